/* Phases from C++: an object is a phase for as long as it lives, also when an exception ends it.
 *
 *     c++ tree.cpp $(pkg-config --cflags --libs lineprofiler) -o tree && ./tree profile */
// SPDX-License-Identifier: MIT
#include <lineprofiler.h>

#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

static int parse(const std::string &text)
{
    static const lp_name name = lp_name_register("parse"); // once, not at each call
    lp::phase guard(name);
    LP_COUNT("bytes", static_cast<int64_t>(text.size()));
    if (text.empty()) throw std::invalid_argument("nothing to parse");
    return static_cast<int>(text.size());
}

int main(int argc, char **argv)
{
    const std::vector<std::string> texts = {"one", "", "three"};
    int sum = 0, bad = 0;
    if (lp_start(argc > 1 ? argv[1] : "profile", "parser")) return 1;
    for (const auto &text : texts) {
        lp::phase guard("text");
        try {
            sum += parse(text);
        } catch (const std::invalid_argument &) {
            ++bad;
        }
    }
    lp_stop();
    std::cout << sum << " bytes, " << bad << " bad\n";
    return 0;
}

"""Single functions, wherever they are called; the decorated function stays the object it was."""

from lineprofiler import LineProfiler

profiler = LineProfiler()


class Account:
    def __init__(self):
        self.entries = []

    @profiler
    def post(self, amount):
        self.entries.append(amount)

    @profiler
    @property
    def balance(self):
        return sum(entry for entry in self.entries)


account = Account()
for amount in range(100):
    account.post(amount)
print(account.balance)

profiler.print_stats(sort_by="line")

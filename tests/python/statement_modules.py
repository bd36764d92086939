"""Modules of the standard library with small scripts that make them work, for the long comparison of hits.

Each script runs twice on a fresh copy of the module, once recorded and once rewritten to count for itself; it must do
the same both times.
"""
# SPDX-License-Identifier: MIT
# ruff: noqa: E501

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

SCRIPTS = {
    "argparse": """
p = m.ArgumentParser(prog='x', description='d' * 100, epilog='e')
p.add_argument('--count', '-c', type=int, default=3, help='number %(default)s')
p.add_argument('--flag', action='store_true')
p.add_argument('names', nargs='*')
g = p.add_mutually_exclusive_group()
g.add_argument('--a', choices=['1', '2'])
g.add_argument('--b', action='append')
s = p.format_help() + p.format_usage()
p.parse_args(['--count', '5', 'x', 'y'])
p.parse_args(['-c7', '--b', 'k', '--b=l', 'z'])
for bad in (['--a', '3'], ['--nope'], ['--a', '1', '--b', '2']):
    try: p.parse_args(bad)
    except SystemExit: pass
""",
    "textwrap": """
t = 'The quick-brown fox jumped over the lazy dog. ' * 7
for w in (10, 20, 70):
    m.wrap(t, w); m.fill(t, w, initial_indent=' ', break_long_words=False)
m.shorten(t, 30); m.dedent('   a\\n     b\\n\\n   c'); m.indent('a\\nb\\n', '> ')
""",
    "json.decoder": """
d = m.JSONDecoder(strict=True)
d.scan_once = __import__('json.scanner').scanner.py_make_scanner(d)
d.parse_string = m.py_scanstring
for text in ('{"a": [1, 2.5, -3e4, true, null], "b": {"c": "x\\\\u1234\\\\n"}}', '[]', '{}', '[[[1], 2], {"k": []}]', '"\\\\ud83d\\\\ude00"'):
    d.decode(text)
for bad in ('[1,', '{"a" 1}', '"\\\\x"', '{"a": 1,}', '"abc', ''):
    try: d.decode(bad)
    except ValueError: pass
""",
    "json.encoder": """
e = m.JSONEncoder(indent=2, sort_keys=True)
m.c_make_encoder = None
x = {'a': [1, 2.5, True, None, {'k': (1, 2)}], 'b': 'é\\n', 'c': {}, 'd': [], 'e': float('inf')}
e.encode(x); m.JSONEncoder().encode(x); list(m.JSONEncoder(separators=(',', ':')).iterencode(x))
y = []; y.append(y)
for bad in (y, {1, 2}, {(1, 2): 3}):
    try: e.encode(bad)
    except (ValueError, TypeError): pass
""",
    "configparser": """
c = m.ConfigParser()
c.read_string('[a]\\nx = 1\\ny: %(x)s2\\n multi\\n line\\n; comment\\n[b]\\nz = yes\\nk\\n', ) if False else None
c.read_string('[a]\\nx = 1\\ny: %(x)s2\\n    more\\n# comment\\n[b]\\nz = yes\\n')
c.get('a', 'y'); c.getboolean('b', 'z'); c.getint('a', 'x'); c.sections(); dict(c['a'].items())
c.add_section('n'); c.set('n', 'o', 'p'); c.remove_option('n', 'o'); c.has_option('a', 'q')
import io
c.write(io.StringIO())
for bad in ('x = 1', '[a]\\n[a]', '[a]\\nx=1\\nx=2', '[a]\\n = 3'):
    try: m.ConfigParser().read_string(bad)
    except m.Error: pass
try: c.get('a', 'nope')
except m.Error: pass
r = m.RawConfigParser(allow_no_value=True); r.read_string('[s]\\nflag\\nv = 2')
""",
    "difflib": """
a = 'one two three four five six'.split(); b = 'one 2 three four 5 six seven'.split()
list(m.unified_diff(a, b)); list(m.context_diff(a, b)); list(m.ndiff(a, b))
m.get_close_matches('appel', ['ape', 'apple', 'peach', 'puppy'])
s = m.SequenceMatcher(None, 'abcdefgh' * 4, 'abxdefgh' * 4); s.ratio(); s.quick_ratio(); s.get_opcodes(); list(s.get_grouped_opcodes(1))
m.HtmlDiff(wrapcolumn=10).make_table(a, b, context=True)
""",
    "fractions": """
F = m.Fraction
x = [F(1, 3), F('2.5'), F(3), F('1/7'), F(-4, 6), F(0.5)]
for a in x:
    for b in x:
        a + b; a - b; a * b; a / b; a // b; a % b; a < b; a == b
    a ** 2; a ** -1; round(a); round(a, 1); str(a); repr(a); hash(a); a.limit_denominator(10); abs(a); int(a)
for bad in ('x', '1/0'):
    try: F(bad)
    except (ValueError, ZeroDivisionError): pass
""",
    "statistics": """
d = [1, 5, 2, 8, 7, 3, 2]
m.mean(d); m.median(d); m.mode(d); m.stdev(d); m.variance(d); m.quantiles(d); m.median_low(d); m.median_high(d)
m.median_grouped(d); m.multimode(d); m.harmonic_mean(d); m.geometric_mean(d); m.fmean(d); m.pstdev(d); m.linear_regression(d, d)
n = m.NormalDist(1, 2); n.cdf(1); n.inv_cdf(.3); n.pdf(2); n + n; n * 2
for f in (m.mean, m.median, m.mode):
    try: f([])
    except m.StatisticsError: pass
""",
    "heapq": """
import random
h = []; r = random.Random(1)
for i in range(50): m.heappush(h, r.random())
m.heapify(h); m.nlargest(5, h); m.nsmallest(5, h, key=lambda x: -x); list(m.merge([1, 4], [2, 3], reverse=False)); m.nlargest(1, h)
while h: m.heappop(h)
""",
    "csv": """
import io
t = 'a,b;c\\n1,"x, y",3\\n4,5,6\\n'
list(m.DictReader(io.StringIO(t))); s = m.Sniffer(); s.sniff('a;b;c\\n1;2;3\\n4;5;6\\n'); s.has_header('n,v\\nx,1\\ny,2\\n')
o = io.StringIO(); w = m.DictWriter(o, ['a', 'b']); w.writeheader(); w.writerow({'a': 1, 'b': 2})
try: w.writerow({'q': 1})
except ValueError: pass
""",
    "string": """
t = m.Template('$a ${b} $$ $c'); t.safe_substitute(a=1); t.substitute(a=1, b=2, c=3); m.capwords('a b  c')
f = m.Formatter(); f.format('{0} {x:>{w}} {y!r} {z[0]} {x.real}', 1, x=2, w=5, y='q', z=[1])
try: t.substitute()
except KeyError: pass
""",
    "shlex": """
m.split('a "b c" d\\\\ e # f', comments=True); m.quote("it's"); m.join(['a b', 'c']); list(m.shlex('a=b; c && d', punctuation_chars=True)); list(m.shlex("x 'y z' 3.4 #c\\n w"))
try: m.split('"abc')
except ValueError: pass
""",
    "dataclasses": """
@m.dataclass(order=True, frozen=False)
class P:
    x: int
    y: int = 2
    z: list = m.field(default_factory=list, compare=False)
    def __post_init__(self): pass
@m.dataclass(frozen=True, slots=False)
class Q(P.__mro__[-1]):
    a: int = 1
p = P(1); q = P(2, 3); p < q; p == q; repr(p); m.asdict(p); m.astuple(q); m.replace(p, x=4); m.fields(p)
m.make_dataclass('R', [('a', int), 'b', ('c', int, m.field(default=5))])(1, 2); hash(Q())
try: Q().a = 2
except m.FrozenInstanceError: pass
""",
    "enum": """
class C(m.Enum):
    A = 1
    B = 2
    D = 1
class F(m.Flag):
    X = m.auto()
    Y = m.auto()
    Z = X | Y
list(C); C(1); C['B']; repr(C.A); F.X | F.Y; ~F.X; F.X in F.Z; list(F); str(F.Z); F(3)
for bad in (lambda: C(9), lambda: C['q'], lambda: F(64)):
    try: bad()
    except (ValueError, KeyError): pass
""",
    "collections": """
c = m.Counter('abracadabra'); c.most_common(2); c + c; c - m.Counter('ab'); c & c; c | c; c.subtract('a'); repr(c); +c; list(c.elements())
o = m.OrderedDict(a=1, b=2); o.move_to_end('a'); repr(o); o.popitem(); n = m.namedtuple('N', 'a b c', defaults=[1]); x = n(1, 2); x._replace(a=3); x._asdict(); repr(x)
ch = m.ChainMap({'a': 1}, {'b': 2}); ch['b']; list(ch); ch.new_child({'z': 1})['z']; len(ch); u = m.UserDict(a=1); u['b'] = 2; u.copy(); s = m.UserString('abc'); s.upper(); l = m.UserList([1, 2]); l + [3]; l * 2
try: m.namedtuple('N', 'a a')
except ValueError: pass
""",
    "ast": """
t = m.parse('def f(a, *b, c=1, **d):\\n  for i in range(3):\\n    if a and not b: yield [x for x in y if z]\\n    else: return f"{a!r:>{b}}"\\n  try: pass\\n  except (A, B) as e: raise\\n  finally: del x\\nclass A(B, metaclass=C): x: int = lambda: 3\\n')
m.dump(t, indent=2); list(m.walk(t)); m.fix_missing_locations(t); m.literal_eval('[1, -2, {"a": (1+2j)}]'); m.get_docstring(t); m.increment_lineno(t)
class V(m.NodeVisitor):
    def visit_Name(self, node): self.generic_visit(node)
V().visit(t); m.NodeTransformer().visit(t)
try: m.literal_eval('f()')
except ValueError: pass
""",
    "tokenize": """
import io
src = b'# c\\ndef f(a):\\n    return (a +\\n  "x" f"{a}")\\n\\nx = 0x1f\\n'
try:
    t = list(m.tokenize(io.BytesIO(src).readline)); m.untokenize(t); [str(x) for x in t]
except Exception: pass
m.detect_encoding(io.BytesIO(b'# -*- coding: latin-1 -*-\\n').readline)
try: m.detect_encoding(io.BytesIO(b'# coding: nope\\n').readline)
except SyntaxError: pass
""",
    "html.parser": """
class P(m.HTMLParser):
    def handle_starttag(self, t, a): pass
p = P(); p.feed('<!DOCTYPE html><p class="a" b=c d>x &amp; y &#65; <br/><!-- c --><script>if (a<b) x</script></p><?pi?><a href=\\'q\\'>z</'); p.close(); p.getpos()
""",
    "urllib.parse": """
for u in ('http://u:p@h.x:80/a;p/b?q=1&r=2#f', '//h/x', 'mailto:a@b', '', 'http://[::1]:8/x'):
    r = m.urlsplit(u); r.geturl(); m.urlparse(u); m.urlunparse(m.urlparse(u)); r.hostname; r.port; r.username
m.urljoin('http://a/b/c/d', '../e'); m.quote('a b/é'); m.unquote('a%20b%C3%A9'); m.parse_qs('a=1&a=2&b='); m.urlencode({'a': [1, 2], 'b': 'x y'}, doseq=True); m.quote_plus('a b'); m.urldefrag('a#b')
try: m.urlsplit('http://[::1')
except ValueError: pass
""",
    "sched": """
s = m.scheduler(lambda: 5, lambda x: None)
e = [s.enterabs(i % 3, i, len, ('ab',)) for i in range(5)]; s.cancel(e[1]); s.queue; s.empty(); s.run(blocking=False); s.run()
""",
    "bisect": """
a = []
for x in (5, 1, 4, 1, 3): m.insort(a, x); m.insort_left(a, x, key=None)
m.bisect_left(a, 3); m.bisect_right(a, 1, 0, 3)
try: m.bisect_left(a, 1, -1)
except ValueError: pass
""",
    "graphlib": """
t = m.TopologicalSorter({'d': {'b', 'c'}, 'b': {'a'}, 'c': {'a'}}); t.add('e', 'd'); tuple(t.static_order())
t = m.TopologicalSorter({'a': ['b'], 'b': ['a']})
try: t.prepare()
except m.CycleError: pass
t = m.TopologicalSorter({'x': ['y']}); t.prepare()
while t.is_active():
    t.done(*t.get_ready())
""",
    "contextlib": """
@m.contextmanager
def c(x):
    try: yield x
    except ValueError: pass
    finally: pass
with c(1): pass
with c(2): raise ValueError
try:
    with c(3): raise KeyError
except KeyError: pass
with m.ExitStack() as s:
    s.enter_context(c(1)); s.callback(len, 'a'); t = s.pop_all()
t.close()
with m.suppress(ValueError): int('x')
with m.closing(open('/dev/null')), m.nullcontext(): pass
import io
with m.redirect_stdout(io.StringIO()): print(1)
@c(5)
def f(): return 3
f()
async def a():
    @m.asynccontextmanager
    async def g():
        yield 1
    async with g(), m.AsyncExitStack() as s:
        await s.enter_async_context(g())
try: a().send(None)
except StopIteration: pass
""",
    "inspect": """
def f(a, /, b: int, *c, d=1, **e) -> int: "doc"
class K:
    def m(self): pass
    @property
    def p(self): return 1
s = m.signature(f); str(s); s.bind(1, 2, d=3).arguments; m.getdoc(f); m.getmembers(K); m.isfunction(f); m.getfullargspec(f); m.classify_class_attrs(K); m.getmro(K); m.unwrap(f)
s.replace(parameters=list(s.parameters.values())[:1]); m.Signature([m.Parameter('x', m.Parameter.KEYWORD_ONLY, default=2)]); m.cleandoc('a\\n  b\\n  c')
for bad in ((), (1, 2, 3)):
    try: s.bind(*bad); m.signature(3)
    except TypeError: pass
""",
}  # fmt: skip


def source_of(name: str) -> str:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def drive(name: str, code: Any, names: dict[str, Any]) -> None:
    """Runs a compiled copy of the module and its script."""
    original = importlib.import_module(name)
    module = types.ModuleType(name)
    module.__dict__.update(names, __file__="copy", __package__=original.__package__)
    if hasattr(original, "__path__"):
        module.__path__ = original.__path__
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)
        exec(compile(SCRIPTS[name], "<script>", "exec"), {"m": module, "__name__": name})
    finally:
        sys.modules[name] = original

import type { Benchmark } from './codeTestsComparison.ts';

/**
 * What a benchmark's grader gives to every answer in Python, so that `List[int]` or `deque` is no error without an import. Up to the
 * first empty line it is run for each answer, the rest for those that use a name which they do not define.
 *
 * - LiveCodeBench (`lcb_runner/evaluation/testing_util.py`): all names of these modules, and deep recursion
 * - APPS and TACO (APPS's `testing_util.py`): some names; numpy, which not every sandbox has, is left to the answer
 */
export const givenNames: Readonly<Record<Benchmark, string | null>> = {
	livecodebench: [
		'import sys',
		'sys.setrecursionlimit(50000)',
		'',
		...words(
			'string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json builtins typing',
		).map((module) => `from ${module} import *`),
		`import ${words('string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json').join()}`,
	].join('\n'),
	apps: [
		'',
		'',
		'from itertools import accumulate, combinations, permutations, product',
		'from collections import ChainMap, Counter, OrderedDict, defaultdict, deque',
		'from functools import lru_cache',
		'from math import ceil, cos, exp, fabs, floor, gcd, log, log2, sin, sqrt, tan',
		'from typing import List, Tuple',
		'from heapq import *',
		'import collections, fractions, heapq, itertools, math, random, sys, time',
	].join('\n'),
	other: null,
};

function words(text: string): string[] {
	return text.split(' ');
}

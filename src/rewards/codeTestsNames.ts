import type { Benchmark } from './codeTestsComparison.ts';

/**
 * Names that a benchmark's grader provides to every Python answer, so `List[int]` or `deque` works without an import.
 * The part before the first empty line is executed for every answer, the rest only for answers that use a name without
 * defining it.
 *
 * - LiveCodeBench (`lcb_runner/evaluation/testing_util.py`): all names in these modules, and deep recursion
 * - APPS and TACO (APPS's `testing_util.py`): some names; answers must import numpy themselves because not every
 *   sandbox has it
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

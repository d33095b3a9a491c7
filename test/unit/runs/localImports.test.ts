import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedFiles, pythonImports, scriptImports } from '../../../src/runs/localImports.ts';

test('finds every way a script can reference a local file, but not packages and computed names', () => {
	const text = `
import type { Reward } from 'reasoning-lab';
import { a } from './a.ts';
import b, {
	c,
} from "../lib/b.ts";
import './effect.js';
export * from './star.mjs';
export{d}from'./tight.ts';
const e = await import('./lazy.ts');
const f = import(\`./template.ts\`);
const g = require('./old.cjs');
const words = new URL('./words%20a.txt', import.meta.url);
const other = new URL('./not.txt', 'file:///x');
import h from './query.ts?v=1';
import i from 'node:fs';
const j = await import(\`./\${name}.ts\`);
import data from './data.json' with { type: 'json' };
`;
	assert.deepEqual(scriptImports(text).sort(), [
		'../lib/b.ts',
		'./a.ts',
		'./data.json',
		'./effect.js',
		'./lazy.ts',
		'./old.cjs',
		'./query.ts',
		'./star.mjs',
		'./template.ts',
		'./tight.ts',
		'./words%20a.txt',
	]);
});

test('finds every kind of Python import', () => {
	const text = `
import json, helpers.text as ht, a . b
from .common import score, other as o
from ..up import (
	x,  # a comment, with a comma
	y as z,
)
from . import sibling
from pkg.sub import *
from pkg import one, \\
	two
def f():
	if True: import lazy; from lazier import thing
	importlib.import_module("by.name")
from späte import größe
x = "no import here"
`;
	assert.deepEqual(
		pythonImports(text).map(({ level, module, names }) => `${level} ${module.join('.')}: ${names.join(' ')}`),
		[
			'1 common: score other',
			'2 up: x y',
			'1 : sibling',
			'0 pkg.sub: ',
			'0 pkg: one two',
			'0 lazier: thing',
			'0 späte: größe',
			'0 json: ',
			'0 helpers.text: ',
			'0 a.b: ',
			'0 lazy: ',
			'0 by.name: ',
		],
	);
});

test('finds files named in comments', () => {
	const text = '# @file words.txt\n// @file  data/a b.txt  \n * @file x.json */\nx = "@file no"\n#@file y\n# @files z';
	assert.deepEqual(namedFiles(text), [
		{ path: 'words.txt', line: 1 },
		{ path: 'data/a b.txt', line: 2 },
		{ path: 'x.json', line: 3 },
		{ path: 'y', line: 5 },
	]);
});

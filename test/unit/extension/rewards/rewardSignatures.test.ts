import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSignatures } from '../../../../src/extension/rewards/rewardSignatures.ts';

const shown = (text: string, path: string) =>
	findSignatures(text, path).map(({ name, line, endLine }) => [name, line, endLine]);

test('Python: finds top-level functions of prompts or completions, sync and async, on one line or several', () => {
	const text = `"""
def quoted(prompts, completions): pass
"""
import math

def helper(x):
	return x

def brevity(prompts, completions, **kwargs) -> list[float | None]:
	def completions(completions): return 1
	return [1.0 for _ in completions]

async def judge(
	prompts,  # ) a comment with a bracket
	completions: list[str],
	answer=None,
	**kwargs,
) -> list[float]:
	return []

# def gone(prompts, completions): return []
def _hidden(prompts, completions): return []
def short(completions, **kwargs): return []

class Box:
	def method(self, prompts, completions): return []
`;
	assert.deepEqual(shown(text, 'a.reward.py'), [
		['brevity', 8, 8],
		['judge', 12, 17],
		['short', 22, 22],
	]);
});

test('TypeScript: finds exported functions in every form, and nothing else', () => {
	const text = `import type { Reward } from 'reasoning-lab';

// export const gone: Reward = () => 1;
/* export const gone2: Reward = () => 1;
*/
export const limit = 200;
export const words = ['a', 'b'];
export type Shape = { a: 1 };

export const brevity: Reward = ({ completion }) => 1 - completion.length / limit;

export const tidy: Reward = async ({
	completion,
	trace,
}) => {
	return trace.answer === null ? null : 1;
};

export function plain(sample: { completion: string }): number | null {
	return 1;
}

export async function later(
	sample: Sample,
): Promise<number> {
	return 1;
}

export const ranked = Object.assign((rows: readonly Sample[]) => rows.map(() => 1), { batch: true });

const inner = (sample) => 1;
const other = function (sample) { return 1; };
export { inner, other as renamed };

export const wrapped: Reward = make(3);
const text = \`
export const quoted: Reward = () => 1;
\`;
export default ({ completion }) => completion.length;
`;
	assert.deepEqual(shown(text, '/x/mine.reward.ts'), [
		['brevity', 9, 9],
		['tidy', 11, 14],
		['plain', 18, 18],
		['later', 22, 24],
		['ranked', 28, 28],
		['inner', 30, 30],
		['renamed', 31, 31],
		['wrapped', 34, 34],
		['mine', 38, 38],
	]);
});

test('a named default export is named after the file', () => {
	assert.deepEqual(shown('export default function score({ completion }) {\n\treturn 1;\n}\n', 'a/b.reward.mjs'), [
		['b', 0, 0],
	]);
	assert.deepEqual(shown('const f = (s) => 1;\nexport default f;\n', 'a/b.reward.js'), [['b', 0, 0]]);
});

test('malformed text ends the search without breaking the editor', () => {
	for (const text of [
		'def a(prompts, completions',
		'def (',
		'export const',
		'export const a: Reward = (',
		'`',
		'"""',
	]) {
		for (const path of ['a.reward.py', 'a.reward.ts']) assert.ok(Array.isArray(findSignatures(text, path)), text);
	}
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSignatures } from '../../../../src/extension/rewards/rewardSignatures.ts';
import { bodyLine } from '../../../../src/extension/rewardTests/bodyLine.ts';

function stops(text: string, path: string): string[] {
	const lines = text.split('\n');
	const language = path.endsWith('.py') ? 'python' : 'script';
	return findSignatures(text, path).map((one) => lines[bodyLine(text, one, language)]?.trim() ?? '');
}

test('a debugger stops at the first statement of a Python reward, after its docstring', () => {
	const text = `import re

def plain(completions, **kwargs):
    # says nothing
    """Of several
    lines."""

    return [1.0]


async def wide(
    prompts,
    completions,
    answer=None,
) -> list[float]:  # typed
    '''One line.'''
    values = []
    return values

def short(completions): return [0.0 for _ in completions]
`;
	assert.deepEqual(stops(text, 'a.reward.py'), [
		'return [1.0]',
		'values = []',
		'def short(completions): return [0.0 for _ in completions]',
	]);
});

test('a debugger stops at the first statement of a TypeScript reward, or at an arrow function without a block', () => {
	const text = `export const block: Reward = ({ answer }) => {
	// first

	const x = 1;
	return x;
};
export const arrow = ({ completion }) => completion.length;
export const below = ({ completion }) =>
	completion.length;
export function named({ trace }: RewardSample) {
	return trace.answer === null ? 0 : 1;
}
`;
	assert.deepEqual(stops(text, 'a.reward.ts'), [
		'const x = 1;',
		'export const arrow = ({ completion }) => completion.length;',
		'completion.length;',
		'return trace.answer === null ? 0 : 1;',
	]);
});

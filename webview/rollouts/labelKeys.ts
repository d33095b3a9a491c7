import type { StepRating } from '../../src/protocol/stepLabel.ts';

/** PRM800K step ratings and their keys. */
export const ratings: readonly {
	readonly rating: StepRating;
	readonly name: string;
	readonly sign: string;
	readonly keys: readonly string[];
	readonly shown: string;
}[] = [
	{ rating: -1, name: 'Incorrect', sign: '✗', keys: ['-', 'a'], shown: '−' },
	{ rating: 0, name: 'Neutral', sign: '○', keys: ['0', 's'], shown: '0' },
	{ rating: 1, name: 'Correct', sign: '✓', keys: ['+', '=', 'd'], shown: '+' },
];

/** Returns the action for a key; null if there is none. */
export function labelAction(
	key: string,
):
	| { readonly kind: 'rate'; readonly rating: StepRating }
	| { readonly kind: 'move'; readonly by: number }
	| { readonly kind: 'clear' | 'undo' }
	| null {
	const rating = ratings.find(({ keys }) => keys.includes(key));
	if (rating) return { kind: 'rate', rating: rating.rating };
	if (key === 'ArrowDown' || key === 'j') return { kind: 'move', by: 1 };
	if (key === 'ArrowUp' || key === 'k') return { kind: 'move', by: -1 };
	if (key === 'Home') return { kind: 'move', by: -Number.MAX_SAFE_INTEGER };
	if (key === 'End') return { kind: 'move', by: Number.MAX_SAFE_INTEGER };
	if (key === 'Delete' || key === 'Backspace') return { kind: 'clear' };
	return key === 'u' ? { kind: 'undo' } : null;
}

export const commands = [
	'next-group',
	'previous-group',
	'next-completion',
	'previous-completion',
	'newer-step',
	'older-step',
	'first-group',
	'last-group',
	'search',
	'follow',
	'tokens',
	'marks',
	'fold',
	'choose',
	'compare',
	'label',
	'rate-higher',
	'rate-lower',
	'unrate',
	'continue',
	'show-group',
	'show-compare',
	'show-training',
	'show-behaviors',
	'widest-spread',
	'copy',
	'open-text',
	'clear-filters',
	'help',
] as const;
export type Command = (typeof commands)[number];

interface Binding {
	readonly command: Command;
	/** Values of `KeyboardEvent.key` that trigger the command. */
	readonly keys: readonly string[];
	/** Key labels shown in the help dialog. */
	readonly shown: readonly string[];
	readonly does: string;
}

/** All keyboard shortcuts in the panel, as listed in the help dialog. */
export const bindings: readonly Binding[] = [
	{ command: 'next-group', keys: ['j'], shown: ['j'], does: 'Next group' },
	{ command: 'previous-group', keys: ['k'], shown: ['k'], does: 'Previous group' },
	{ command: 'next-completion', keys: ['ArrowRight', 'l'], shown: ['→', 'l'], does: 'Next completion' },
	{ command: 'previous-completion', keys: ['ArrowLeft', 'h'], shown: ['←', 'h'], does: 'Previous completion' },
	{ command: 'older-step', keys: ['['], shown: ['['], does: 'Older step' },
	{ command: 'newer-step', keys: [']'], shown: [']'], does: 'Newer step' },
	{ command: 'first-group', keys: ['g'], shown: ['g'], does: 'First group' },
	{ command: 'last-group', keys: ['G'], shown: ['G'], does: 'Last group' },
	{ command: 'search', keys: ['/'], shown: ['/'], does: 'Search this step' },
	{ command: 'follow', keys: ['f'], shown: ['f'], does: 'Toggle following new steps' },
	{ command: 'tokens', keys: ['t'], shown: ['t'], does: 'Color tokens by next recorded value' },
	{ command: 'marks', keys: ['b'], shown: ['b'], does: 'Toggle behavior highlights' },
	{ command: 'widest-spread', keys: ['w'], shown: ['w'], does: 'Go to group with the widest reward spread' },
	{ command: 'fold', keys: ['i'], shown: ['i'], does: 'Expand or collapse identical completions' },
	{ command: 'choose', keys: ['v'], shown: ['v'], does: 'Select completion' },
	{ command: 'compare', keys: ['d'], shown: ['d'], does: 'Compare with another completion' },
	{ command: 'label', keys: ['s'], shown: ['s'], does: 'Label steps in completion' },
	{ command: 'rate-higher', keys: ['+', '='], shown: ['+'], does: 'Raise rating (starts at 3 of 5)' },
	{ command: 'rate-lower', keys: ['-'], shown: ['-'], does: 'Lower rating' },
	{ command: 'unrate', keys: ['0'], shown: ['0'], does: 'Clear rating' },
	{ command: 'continue', keys: ['e'], shown: ['e'], does: 'Continue from completion' },
	{ command: 'show-group', keys: ['1'], shown: ['1'], does: 'Show group' },
	{ command: 'show-compare', keys: ['2'], shown: ['2'], does: 'Show comparison' },
	{ command: 'show-training', keys: ['3'], shown: ['3'], does: 'Show prompt over training' },
	{ command: 'show-behaviors', keys: ['4'], shown: ['4'], does: 'Show behaviors over training' },
	{ command: 'copy', keys: ['c'], shown: ['c'], does: 'Copy completion' },
	{ command: 'open-text', keys: ['o'], shown: ['o'], does: 'Open completion as text' },
	{ command: 'clear-filters', keys: ['x'], shown: ['x'], does: 'Clear search and filters' },
	{ command: 'help', keys: ['?'], shown: ['?'], does: 'Keyboard shortcuts' },
];

export interface KeyPress {
	readonly key: string;
	readonly ctrlKey: boolean;
	readonly altKey: boolean;
	readonly metaKey: boolean;
	/** Type of the focused element. */
	readonly focus: 'text' | 'choice' | 'other';
}

/**
 * Returns the command for a key press; null if the key is handled by the browser, the focused control, or VS Code. Text
 * fields receive all keys; selects, sliders and radio buttons receive arrow keys and letters.
 */
export function commandOf(press: KeyPress): Command | null {
	if (press.ctrlKey || press.altKey || press.metaKey) return null;
	if (press.focus === 'text' || press.focus === 'choice') return null;
	return bindings.find((binding) => binding.keys.includes(press.key))?.command ?? null;
}

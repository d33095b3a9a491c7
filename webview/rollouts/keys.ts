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
	'show-behaviours',
	'widest-spread',
	'copy',
	'open-text',
	'clear-filters',
	'help',
] as const;
export type Command = (typeof commands)[number];

interface Binding {
	readonly command: Command;
	/** Values of `KeyboardEvent.key`. */
	readonly keys: readonly string[];
	/** As shown in the list of keys. */
	readonly shown: readonly string[];
	readonly does: string;
}

/** Every key of the panel; the list that `?` shows is drawn from this. */
export const bindings: readonly Binding[] = [
	{ command: 'next-group', keys: ['j'], shown: ['j'], does: 'Next group' },
	{ command: 'previous-group', keys: ['k'], shown: ['k'], does: 'Previous group' },
	{ command: 'next-completion', keys: ['ArrowRight', 'l'], shown: ['→', 'l'], does: 'Next completion' },
	{ command: 'previous-completion', keys: ['ArrowLeft', 'h'], shown: ['←', 'h'], does: 'Previous completion' },
	{ command: 'older-step', keys: ['['], shown: ['['], does: 'Older step' },
	{ command: 'newer-step', keys: [']'], shown: [']'], does: 'Newer step' },
	{ command: 'first-group', keys: ['g'], shown: ['g'], does: 'First group' },
	{ command: 'last-group', keys: ['G'], shown: ['G'], does: 'Last group' },
	{ command: 'search', keys: ['/'], shown: ['/'], does: 'Search in this step' },
	{ command: 'follow', keys: ['f'], shown: ['f'], does: 'Follow the newest step, or stay' },
	{ command: 'tokens', keys: ['t'], shown: ['t'], does: 'Color tokens by the next value that was recorded' },
	{ command: 'marks', keys: ['b'], shown: ['b'], does: 'Mark behaviors in the texts, or nothing' },
	{ command: 'widest-spread', keys: ['w'], shown: ['w'], does: 'Group with the widest spread of rewards' },
	{ command: 'fold', keys: ['i'], shown: ['i'], does: 'Expand or fold identical completions' },
	{ command: 'choose', keys: ['v'], shown: ['v'], does: 'Choose the completion, to compare or to export' },
	{ command: 'compare', keys: ['d'], shown: ['d'], does: 'Compare the chosen completion with another' },
	{ command: 'label', keys: ['s'], shown: ['s'], does: 'Label the steps of the completion' },
	{ command: 'rate-higher', keys: ['+', '='], shown: ['+'], does: 'Rate the completion higher, from 3 of 5 on' },
	{ command: 'rate-lower', keys: ['-'], shown: ['-'], does: 'Rate the completion lower' },
	{ command: 'unrate', keys: ['0'], shown: ['0'], does: 'Clear rating' },
	{ command: 'continue', keys: ['e'], shown: ['e'], does: 'Continue from the completion' },
	{ command: 'show-group', keys: ['1'], shown: ['1'], does: 'The group' },
	{ command: 'show-compare', keys: ['2'], shown: ['2'], does: 'Two completions' },
	{ command: 'show-training', keys: ['3'], shown: ['3'], does: 'The prompt over training' },
	{ command: 'show-behaviours', keys: ['4'], shown: ['4'], does: 'Behaviors over training' },
	{ command: 'copy', keys: ['c'], shown: ['c'], does: 'Copy the completion' },
	{ command: 'open-text', keys: ['o'], shown: ['o'], does: 'Open the completion as text' },
	{ command: 'clear-filters', keys: ['x'], shown: ['x'], does: 'Clear search and filters' },
	{ command: 'help', keys: ['?'], shown: ['?'], does: 'This list' },
];

export interface KeyPress {
	readonly key: string;
	readonly ctrlKey: boolean;
	readonly altKey: boolean;
	readonly metaKey: boolean;
	/** Role or tag of what has the focus. */
	readonly focus: 'text' | 'choice' | 'other';
}

/**
 * The command of a key press; null: the key belongs to the browser, the control in focus, or VS Code. Fields take every
 * key; a choice (select, slider, radio) keeps its arrows and letters.
 */
export function commandOf(press: KeyPress): Command | null {
	if (press.ctrlKey || press.altKey || press.metaKey) return null;
	if (press.focus === 'text' || press.focus === 'choice') return null;
	return bindings.find((binding) => binding.keys.includes(press.key))?.command ?? null;
}

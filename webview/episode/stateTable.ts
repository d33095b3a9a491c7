import { type StateChange, stateChanges } from '../../src/core/episode/stateChanges.ts';
import { element, unseen } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

type State = Readonly<Record<string, unknown>>;

const longest = 1500;

/**
 * Creates a table of the instance's attributes and their changes.
 * @param before state before the turn; undefined if unknown
 * @param other name of the episode to compare with, and the differences from its state
 */
export function stateTable(
	state: State,
	before: State | undefined,
	other: { readonly name: string; readonly changes: readonly StateChange[] } | null,
): HTMLElement {
	const changes = stateChanges(before, state);
	const differing = other?.changes ?? [];
	const names = [...Object.keys(state), ...[...changes, ...differing].map(({ attribute }) => attribute)];
	const rows = [...new Set(names)].map((name) => {
		const changed = changes.filter(({ attribute }) => attribute === name);
		const differs = differing.filter(({ attribute }) => attribute === name);
		return element(
			'tr',
			{ class: changed.length > 0 ? 'changed' : '' },
			element('th', { attributes: { scope: 'row' } }, plainLabel(name, 80), changed.length > 0 && unseen(' (changed)')),
			element('td', null, Object.hasOwn(state, name) ? valueText(state[name]) : 'removed'),
			before !== undefined && element('td', null, ...changed.slice(0, 12).map(changeLine)),
			other !== null &&
				element('td', { class: differs.length > 0 ? 'differs' : '' }, ...differs.slice(0, 12).map(changeLine)),
		);
	});
	const head = (words: string) => element('th', { attributes: { scope: 'col' } }, words);
	return element(
		'div',
		{ class: 'table-scroll', tabIndex: 0, role: 'group', aria: { label: 'State' } },
		element(
			'table',
			{ class: 'plain-table state' },
			element(
				'thead',
				null,
				element(
					'tr',
					null,
					head('Attribute'),
					head('Value'),
					before !== undefined && head('Before'),
					other !== null && head(other.name),
				),
			),
			element('tbody', null, ...rows),
		),
	);
}

/** Shows the earlier value and, if it is nested, its path. */
function changeLine({ path, before }: StateChange): HTMLElement {
	const place = path === '' ? '' : `${path.replace(/^\./, '')}: `;
	return element(
		'div',
		null,
		place !== '' && element('span', { class: 'quiet' }, plainLabel(place, 80)),
		place !== '' && ' ',
		before === undefined ? 'none' : valueText(before),
	);
}

function valueText(value: unknown): string {
	const text =
		typeof value === 'string' ? JSON.stringify(value) : JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');
	return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

import type { RunTableRow } from '../../protocol/runTableMessages.ts';
import type { CellValue, RunColumn } from './runColumns.ts';

type Test = (row: RunTableRow) => boolean;

export interface RunFilter {
	readonly test: Test;
	/** Why part of the filter has no effect; null if all of it is valid. */
	readonly fault: string | null;
}

const comparison = /^([^\s<>=!:]+)(<=|>=|!=|<|>|=|:)(.*)$/;

/**
 * Parses a filter. All words must occur in a run's name, project, status, tags or folder. `column<value` (and `<=`,
 * `>`, `>=`, `=`, `!=`, `:` for "contains") compares a column, identified by its path or the end of its path:
 * `beta>0.01`, `accuracy>=0.8`, `tags:good`. Quotes keep spaces: `name:"first try"`.
 */
export function parseRunFilter(text: string, columns: Iterable<RunColumn>): RunFilter {
	const tests: Test[] = [];
	let fault: string | null = null;
	const all = [...columns];
	for (const [term = ''] of text.matchAll(/(?:[^\s"]|"[^"]*"?)+/g)) {
		const plain = term.replaceAll('"', '');
		const [, name = '', operator = '', given = ''] = comparison.exec(plain) ?? [];
		if (operator === '') {
			tests.push(hasWord(plain.toLowerCase()));
			continue;
		}
		const column = columnNamed(name, all);
		if (column === null) fault ??= `No column is named "${name.slice(0, 80)}".`;
		else if (given === '' && operator !== '=' && operator !== '!=') continue;
		else tests.push((row) => compares(column.value(row), operator, given));
	}
	return { test: (row) => tests.every((test) => test(row)), fault };
}

function hasWord(word: string): Test {
	return ({ name, project, status, tags, folder }) =>
		[name, project, status, folder, ...tags].some((part) => part.toLowerCase().includes(word));
}

/** Returns the column with a name, or the first whose path ends with it. */
function columnNamed(name: string, columns: readonly RunColumn[]): RunColumn | null {
	const wanted = name.toLowerCase();
	const paths = columns.map((column) => [column, column.path.toLowerCase()] as const);
	const exact = paths.find(([, path]) => path === wanted);
	const ending = paths.find(([, path]) => path.endsWith(`.${wanted}`) || path.endsWith(`/${wanted}`));
	return (exact ?? ending)?.[0] ?? null;
}

function compares(value: CellValue, operator: string, given: string): boolean {
	if (operator === ':') return value !== null && String(value).toLowerCase().includes(given.toLowerCase());
	if (operator === '=' || operator === '!=') {
		const number = Number(given);
		const same =
			typeof value === 'number' && given !== '' && Number.isFinite(number)
				? value === number
				: String(value ?? '').toLowerCase() === given.toLowerCase();
		return same === (operator === '=');
	}
	const limit = Number(given);
	if (typeof value !== 'number' || !Number.isFinite(limit)) return false;
	if (operator === '<') return value < limit;
	if (operator === '<=') return value <= limit;
	return operator === '>' ? value > limit : value >= limit;
}

import type { RolloutFilter } from '../../src/protocol/rolloutIndex.ts';
import { type Condition, componentOf, type FormColumn, formColumns, type QueryForm, valuesOf } from './queryForm.ts';

/** Quotes a SQL identifier. */
export function quoteName(name: string): string {
	return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
	return `'${text.replaceAll("'", "''")}'`;
}

/** Returns the SQL expression for a form column in the `rollouts` view. */
export function columnSql(id: string): string {
	const component = componentOf(id);
	return component === null ? quoteName(id) : `rewards[${quoteText(component)}]`;
}

/** Returns the error in a condition; null if it is valid. Incomplete conditions are valid and do not filter. */
export function faultOf({ operator, value, to }: Condition, kind: FormColumn['kind']): string | null {
	if (kind !== 'number' || valuesOf(operator) === 0) return null;
	const typed = valuesOf(operator) === 2 ? [value, to] : [value];
	const bad = typed.find((text) => text.trim() !== '' && numberOf(text) === null);
	return bad === undefined ? null : `"${bad.trim()}" is not a number.`;
}

/** Parses a number; accepts decimal commas and percentages. */
export function numberOf(text: string): number | null {
	const match = /^([+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[+-]?\d+)?)\s*(%?)$/i.exec(text.trim());
	if (!match) return null;
	const value = Number((match[1] as string).replace(',', '.')) / (match[2] === '%' ? 100 : 1);
	return Number.isFinite(value) ? value : null;
}

/** Returns null if the condition is incomplete. */
function conditionSql({ column, operator, value, to }: Condition, kind: FormColumn['kind']): string | null {
	const name = columnSql(column);
	const literal = (text: string): string | null => {
		if (kind === 'text') return text === '' ? null : quoteText(text);
		const number = numberOf(text);
		return number === null ? null : String(number);
	};
	switch (operator) {
		case 'null':
			return `${name} IS NULL`;
		case 'set':
			return `${name} IS NOT NULL`;
		case 'is':
			return name;
		case 'not':
			return `NOT ${name}`;
		case 'between': {
			const [from, end] = [literal(value), literal(to)];
			return from === null || end === null ? null : `${name} BETWEEN ${from} AND ${end}`;
		}
		case '!=': {
			const other = literal(value);
			return other === null ? null : `${name} IS DISTINCT FROM ${other}`;
		}
		default: {
			const other = literal(value);
			return other === null ? null : `${name} ${operator} ${other}`;
		}
	}
}

/** Combines all conditions in one SQL expression; null if there are none. */
export function whereOf(form: QueryForm, columns: readonly FormColumn[]): string | null {
	const parts = form.conditions.flatMap((condition) => {
		const kind = columns.find(({ id }) => id === condition.column)?.kind ?? fallbackKind(condition.column);
		return conditionSql(condition, kind) ?? [];
	});
	return parts.length === 0 ? null : parts.join(' AND ');
}

/** Returns the type of a column that is not in the index, recognizing reward components. */
function fallbackKind(id: string): FormColumn['kind'] {
	return componentOf(id) === null ? 'text' : 'number';
}

const runCondition = (folders: readonly string[]): string =>
	`run IN (SELECT run FROM runs WHERE folder IN (${folders.map(quoteText).join(', ')}))`;

/** Columns shown by default. */
const shown = ['run', 'split', 'step', 'group_id', 'index', 'reward', 'advantage', 'correct', 'truncated', 'tokens'];

/**
 * Returns the SQL statement for a form, formatted for reading and editing.
 * @param folders run folders to include; null includes all runs
 */
export function sqlOf(form: QueryForm, folders: readonly string[] | null, columns: readonly FormColumn[]): string {
	const conditions = [folders === null ? null : runCondition(folders), whereOf(form, columns)].filter(
		(condition) => condition !== null,
	);
	const where = conditions.length === 0 ? '' : `\nWHERE ${conditions.join('\n\tAND ')}`;
	return form.groupBy.length > 0 ? groupedSql(form, where) : listedSql(form, where);
}

function listedSql(form: QueryForm, where: string): string {
	const asked = [
		...form.conditions.map(({ column }) => column),
		...(form.sort ? [form.sort.column] : []),
		'characters',
	];
	const ids = [...new Set([...shown, ...asked])];
	const order = form.sort
		? `\nORDER BY ${columnSql(form.sort.column)} ${form.sort.descending ? 'DESC' : 'ASC'} NULLS LAST, run, step, group_id, "index"`
		: '\nORDER BY run, step, group_id, "index"';
	return `SELECT ${ids.map(selected).join(', ')}\nFROM rollouts${where}${order}`;
}

/** Returns a selected column with its name in the result. */
function selected(id: string): string {
	const component = componentOf(id);
	return component === null ? nameSql(id) : `${columnSql(id)} AS ${quoteName(component)}`;
}

/** Returns one of our own column names, quoted only if it is reserved in SQL. */
function nameSql(id: string): string {
	return /^[a-z_]+$/.test(id) && id !== 'index' ? id : quoteName(id);
}

function groupedSql(form: QueryForm, where: string): string {
	// Group ids are unique only within a run, split and step. The index makes it possible to open the row.
	const isGroup = form.groupBy.includes('group_id');
	const ids = [...new Set(isGroup ? ['run', 'split', 'step', 'group_id', ...form.groupBy] : form.groupBy)];
	const measure = columnSql(form.measure);
	const label = (componentOf(form.measure) ?? form.measure).replace(/\W+/g, '_');
	const columns = [
		...ids.map(selected),
		...(isGroup ? ['min("index") AS "index"'] : []),
		'count(*) AS rollouts',
		...(['avg', 'stddev_samp', 'min', 'max'] as const).map(
			(name) =>
				`${name}(${isBoolean(form.measure) ? `${measure}::INTEGER` : measure}) AS ${quoteName(`${label}_${words[name]}`)}`,
		),
		'avg(correct::INTEGER) AS correct_share',
		'avg(truncated::INTEGER) AS truncated_share',
		'avg(characters) AS characters_mean',
	];
	const keys = ids.map(columnSql).join(', ');
	const order =
		form.sort === null
			? keys
			: `${quoteName(form.sort.column === form.measure ? `${label}_mean` : resultName(form.sort.column))} ${form.sort.descending ? 'DESC' : 'ASC'} NULLS LAST`;
	return `SELECT ${columns.join(',\n\t')}\nFROM rollouts${where}\nGROUP BY ${keys}\nORDER BY ${order}`;
}

const words = { avg: 'mean', stddev_samp: 'std', min: 'min', max: 'max' } as const;

function isBoolean(id: string): boolean {
	return formColumns([]).find((column) => column.id === id)?.kind === 'boolean';
}

function resultName(id: string): string {
	return componentOf(id) ?? id;
}

/** Returns the sort keys for a grouped result: group columns, size, and mean of the measure. */
export function groupedSorts(form: QueryForm): string[] {
	return [
		...new Set([...form.groupBy, 'rollouts', form.measure, 'correct_share', 'truncated_share', 'characters_mean']),
	];
}

/** Converts the form into a filter for text search. */
export function filterOf(
	form: QueryForm,
	folders: readonly string[] | null,
	columns: readonly FormColumn[],
): RolloutFilter {
	const where = whereOf(form, columns);
	return { ...(folders === null ? {} : { runs: [...folders] }), ...(where === null ? {} : { where }) };
}

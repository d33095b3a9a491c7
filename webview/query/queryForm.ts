import * as v from 'valibot';
import { indexViews } from '../../src/protocol/indexViews.ts';
import { type Sort, sortSchema } from '../../src/protocol/queryMessages.ts';

/** Type of the values in a column. */
export type ColumnKind = 'number' | 'boolean' | 'text';

const short = v.pipe(v.string(), v.maxLength(1000));

export const operators = ['>=', '<=', '=', '!=', 'between', 'is', 'not', 'null', 'set'] as const;
export type Operator = (typeof operators)[number];

export const conditionSchema = v.object({
	column: short,
	operator: v.picklist(operators),
	value: short,
	/** Upper bound for `between`. */
	to: short,
});
/** Condition on rollouts, as typed by the user. */
export type Condition = v.InferOutput<typeof conditionSchema>;

/** Query built with the form. */
export const queryFormSchema = v.object({
	conditions: v.pipe(v.array(conditionSchema), v.maxLength(40)),
	/** Search text; empty matches any text. */
	text: short,
	regex: v.boolean(),
	caseSensitive: v.boolean(),
	sort: v.nullable(sortSchema),
	/** Group-by columns; if empty, the result has one row per rollout. */
	groupBy: v.pipe(v.array(short), v.maxLength(4)),
	/** Column to average over each group. */
	measure: short,
});
export interface QueryForm extends v.InferOutput<typeof queryFormSchema> {
	sort: Sort | null;
}

export const emptyForm: QueryForm = {
	conditions: [],
	text: '',
	regex: false,
	caseSensitive: false,
	sort: null,
	groupBy: [],
	measure: 'reward',
};

/** Column available in the form. */
export interface FormColumn {
	/** Column of the `rollouts` view, or `rewards.` followed by a component name. */
	readonly id: string;
	readonly label: string;
	readonly kind: ColumnKind;
	readonly meaning: string;
}

/** Columns that locate text in files and are not useful in filters. */
const plumbing = ['file', 'byte_offset', 'byte_length', 'item', 'rewards', 'has_tokens'];

const numeric = /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|UTINYINT|USMALLINT|UINTEGER|UBIGINT|FLOAT|DOUBLE|DECIMAL)/;

/** Returns the value type of a column, based on its SQL type. */
export function kindOfType(type: string): FormColumn['kind'] {
	const isList = type.endsWith(']');
	if (!isList && numeric.test(type)) return 'number';
	return type === 'BOOLEAN' ? 'boolean' : 'text';
}

/** Prefix of reward component ids. */
const rewardPrefix = 'rewards.';

/** @param components names of the reward components in the index */
export function formColumns(components: readonly string[]): FormColumn[] {
	const view = indexViews.find(({ name }) => name === 'rollouts');
	return (view?.columns ?? []).flatMap(({ name, type, meaning }): FormColumn[] => {
		if (name === 'reward') {
			return [
				{ id: name, label: 'reward', kind: 'number', meaning },
				...components.map((component): FormColumn => componentColumn(component)),
			];
		}
		return plumbing.includes(name)
			? []
			: [{ id: name, label: name.replaceAll('_', ' '), kind: kindOfType(type), meaning }];
	});
}

function componentColumn(name: string): FormColumn {
	return {
		id: `${rewardPrefix}${name}`,
		label: `reward: ${name}`,
		kind: 'number',
		meaning: `reward component ${name}`,
	};
}

/** Returns the reward component for a column id; null if it is a column of the view. */
export function componentOf(id: string): string | null {
	return id.startsWith(rewardPrefix) ? id.slice(rewardPrefix.length) : null;
}

export const operatorsOf: Readonly<Record<FormColumn['kind'], readonly Operator[]>> = {
	number: ['>=', '<=', '=', '!=', 'between', 'null', 'set'],
	boolean: ['is', 'not', 'null'],
	text: ['=', '!=', 'null', 'set'],
};

export const operatorNames: Readonly<Record<Operator, string>> = {
	'>=': 'at least',
	'<=': 'at most',
	'=': 'is',
	'!=': 'is not',
	between: 'between',
	is: 'yes',
	not: 'no',
	null: 'not recorded',
	set: 'recorded',
};

/** Returns the number of operands. */
export function valuesOf(operator: Operator): 0 | 1 | 2 {
	if (operator === 'between') return 2;
	return operator === '>=' || operator === '<=' || operator === '=' || operator === '!=' ? 1 : 0;
}

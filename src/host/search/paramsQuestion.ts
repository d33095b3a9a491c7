import * as v from 'valibot';
import { type AnyStrategy, strategyParams } from '../../core/search/strategies.ts';
import { displayText } from '../runView.ts';
import { askChoice, askText, type NoAnswer, type Question } from './questions.ts';

type Params = Record<string, unknown>;
type Answer = { readonly value: Params } | NoAnswer;

/** The parameters of a strategy: all have defaults; who wants changes those that matter. */
export async function askParams(question: Question, strategy: AnyStrategy, given: Params): Promise<Answer> {
	const params: Params = { ...given };
	for (;;) {
		const whole = strategyParams(strategy, params) as Params;
		const answer = await askChoice<string | null>(question, [
			{ label: '$(check) Go on with these', value: null },
			...Object.entries(whole).map(([name, value]) => ({
				label: name,
				description: `${displayText(JSON.stringify(value) ?? '', 60)}${Object.hasOwn(params, name) ? ' (changed)' : ''}`,
				detail: descriptionOf(strategy, name),
				value: name,
			})),
		]);
		if (answer === 'back' || answer === 'cancel') return answer;
		const name = answer.value;
		if (name === null) return { value: params };
		const text = await askText(
			{ ...question, title: `${strategy.title}: ${name}`, placeholder: descriptionOf(strategy, name) },
			asText(whole[name]),
			(typed) => faultOf(strategy, { ...params, [name]: asValue(typed) }),
		);
		if (text === 'cancel') return 'cancel';
		if (text !== 'back') params[name] = asValue(text.value);
	}
}

function descriptionOf(strategy: AnyStrategy, name: string): string {
	const entries = (strategy.params as { readonly entries?: Record<string, v.GenericSchema> }).entries;
	let schema: unknown = entries?.[name];
	// A description may be on what a default wraps.
	for (let depth = 0; schema !== undefined && depth < 4; depth++) {
		const found = v.getDescription(schema as v.GenericSchema);
		if (found !== undefined) return found;
		schema = (schema as { readonly wrapped?: unknown }).wrapped;
	}
	return '';
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

function asValue(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}

function faultOf(strategy: AnyStrategy, params: Params): string | null {
	try {
		strategyParams(strategy, params);
		return null;
	} catch (error) {
		return (error as Error).message;
	}
}

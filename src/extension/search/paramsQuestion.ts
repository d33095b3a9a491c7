import * as v from 'valibot';
import * as vscode from 'vscode';
import type { StepSplit } from '../../core/search/search.ts';
import { stepRuleOf } from '../../core/search/stepRule.ts';
import { type AnyStrategy, strategyParams } from '../../core/search/strategies.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { samplingSpecSchema, searchSpecSchema } from '../../protocol/searchSpec.ts';
import { displayText } from '../runView.ts';
import { askChoice, askText, type NoAnswer, type Question } from './questions.ts';

type Params = Record<string, unknown>;

/** Settings of a search other than its strategy, scorers, and budget. */
export interface SearchDetails {
	readonly params: Params;
	/** In the format of `searchSpec.ts`. */
	readonly sampling: Params;
	readonly split?: unknown;
	readonly seed?: unknown;
	readonly concurrency?: unknown;
}

type Answer = { readonly value: SearchDetails } | NoAnswer;

const shared = {
	split:
		'Rule for splitting completions into steps: lines, paragraphs, sentences, tokens-8, completion, or {"text": "..."}',
	temperature: 'Sampling temperature; 0 is greedy',
	topP: 'Nucleus sampling: probability mass to sample from',
	maxStepTokens: 'Max tokens per step',
	maxTokens: 'Max tokens per completion; defaults to what the context allows, up to 4096',
	tokens:
		'Data recorded per token: 0 for none, 1 for log-probability and entropy, N > 1 for N alternatives that can also be forced',
	seed: 'Random seed',
	concurrency: 'Concurrent requests to the policy',
} as const;
type Shared = keyof typeof shared;
const ofSampling: readonly Shared[] = ['temperature', 'topP', 'maxStepTokens', 'maxTokens', 'tokens'];

/**
 * Asks for the strategy and sampling parameters. All of them have defaults, so users only change the ones that matter
 * to them.
 */
export async function askParams(question: Question, strategy: AnyStrategy, given: SearchDetails): Promise<Answer> {
	let details = given;
	for (;;) {
		const whole = strategyParams(strategy, details.params) as Params;
		const common = commonOf(details);
		const row = (name: string, value: unknown, detail: string, changed: boolean) => ({
			label: name,
			description: `${displayText(asText(value), 60)}${changed ? ' (changed)' : ''}`,
			detail,
		});
		const answer = await askChoice<{ readonly name: string; readonly own: boolean } | null>(question, [
			{ label: '$(check) Continue with these settings', value: null },
			...Object.entries(whole).map(([name, value]) => ({
				...row(name, value, descriptionOf(strategy, name), Object.hasOwn(details.params, name)),
				value: { name, own: true },
			})),
			{ label: 'Steps and sampling', kind: vscode.QuickPickItemKind.Separator },
			...Object.entries(shared).map(([name, words]) => ({
				...row(name, common[name], words, isChanged(details, name as Shared)),
				value: { name, own: false },
			})),
		]);
		if (answer === 'back' || answer === 'cancel') return answer;
		if (answer.value === null) return { value: details };
		const { name, own } = answer.value;
		const words = own ? descriptionOf(strategy, name) : shared[name as Shared];
		const changed = (typed: string) => changedDetails(details, name, own, asValue(typed));
		const text = await askText(
			{ ...question, title: `${strategy.title}: ${name}`, placeholder: words },
			asText(own ? whole[name] : common[name]),
			(typed) => faultOf(strategy, changed(typed)),
		);
		if (text === 'cancel') return 'cancel';
		if (text !== 'back') details = changed(text.value);
	}
}

/** Returns the settings with defaults for missing values. */
function commonOf({ sampling, split, seed, concurrency }: SearchDetails): Params {
	const whole = { ...v.getDefaults(searchSpecSchema), ...v.getDefaults(samplingSpecSchema) } as Params;
	const given = { ...sampling, split, seed, concurrency };
	return { ...whole, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}

const isChanged = ({ sampling, ...rest }: SearchDetails, name: Shared): boolean =>
	(ofSampling.includes(name) ? sampling[name] : rest[name as 'split' | 'seed' | 'concurrency']) !== undefined;

function changedDetails(details: SearchDetails, name: string, own: boolean, value: unknown): SearchDetails {
	if (own) return { ...details, params: { ...details.params, [name]: value } };
	if (!(ofSampling as readonly string[]).includes(name)) return { ...details, [name]: value };
	const { [name]: _, ...others } = details.sampling;
	// Empty input restores the default.
	return { ...details, sampling: value === '' ? others : { ...others, [name]: value } };
}

function descriptionOf(strategy: AnyStrategy, name: string): string {
	const entries = (strategy.params as { readonly entries?: Record<string, v.GenericSchema> }).entries;
	let schema: unknown = entries?.[name];
	// The description may be on the schema inside a default wrapper.
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

function faultOf(strategy: AnyStrategy, { params, sampling, split, seed, concurrency }: SearchDetails): string | null {
	try {
		strategyParams(strategy, params);
		decodeOrThrow(samplingSpecSchema, sampling, 'Sampling');
		decodeOrThrow(
			v.partial(v.pick(searchSpecSchema, ['split', 'seed', 'concurrency'])),
			{ split, seed, concurrency },
			'The search',
		);
		if (split !== undefined) stepRuleOf(split as StepSplit);
		return null;
	} catch (error) {
		return (error as Error).message;
	}
}

import { joinedTokens, keptTokens } from '../../../core/playground/branching.ts';
import type { Generation } from '../../../core/search/policy.ts';
import { joined } from '../../../core/search/readGeneration.ts';
import type { Answered } from '../../../policies/askCompletions.ts';
import { firstTurnNotes } from '../../../policies/firstTurnNotes.ts';
import type { OpenPolicy } from '../../../policies/openedPolicy.ts';
import {
	type ChosenPolicy,
	longestCompletion,
	type PlaygroundSample,
	type PlaygroundSampling,
	type PlaygroundSide,
	type TemplateChoice,
} from '../../../protocol/playgroundMessages.ts';
import type { ChatMessage } from '../../../protocol/scorer.ts';

const cannot: PlaygroundSide['can'] = { logprobs: false, alternatives: 0, prefix: false, seed: false };

export const emptySample: PlaygroundSample = {
	text: '',
	given: 0,
	finish: null,
	tokens: 0,
	promptTokens: null,
	detail: null,
	check: null,
};

export const copy = (pair: readonly [string, string] | null): [string, string] | null =>
	pair === null ? null : [...pair];

/** Creates the initial state of a side. */
export function freshSide(
	{ spec, name, template: own, system: usual }: ChosenPolicy,
	question: string,
	template: TemplateChoice,
	system: string | null,
	samples: number,
): PlaygroundSide {
	const around = template.mode === 'own' ? own : template.mode === 'custom' ? template.text : null;
	const said = usual === null ? null : template.mode === 'raw' ? null : (system ?? usual);
	return {
		policy: spec,
		name,
		model: null,
		tags: null,
		prompt: around === null ? question : around.split('{prompt}').join(question),
		system: said === '' ? null : said,
		can: cannot,
		state: 'opening',
		failure: null,
		notes: [],
		seconds: null,
		samples: Array.from({ length: samples }, () => emptySample),
	};
}

/** Returns the messages to send to the policy. They are complete because the policy itself adds nothing. */
export function messagesOf({ prompt, system }: PlaygroundSide): ChatMessage[] {
	return [...(system === null ? [] : [{ role: 'system', content: system }]), { role: 'user', content: prompt }];
}

export function sampleOf(made: Answered, started: PlaygroundSample): PlaygroundSample {
	const { text, finish, tokens, promptTokens, detail, thoughts } = made;
	return {
		...started,
		text: started.text.slice(0, started.given) + text,
		finish,
		tokens,
		promptTokens,
		detail: started.given === 0 ? keptTokens(detail) : joinedTokens(started.detail, keptTokens(detail)),
		...(thoughts === undefined ? {} : { thoughts: thoughts.map((top) => top.map(([word, p]) => [word, p])) }),
	};
}

export function notesOf(
	policy: OpenPolicy,
	{ temperature }: PlaygroundSampling,
	alternatives: number,
	samples: number,
): string[] {
	const { capabilities } = policy;
	return [
		...firstTurnNotes(policy.environment),
		...(capabilities.logprobs ? [] : ['No token probabilities available.']),
		...(capabilities.logprobs && alternatives === 0 ? ['No alternative tokens available.'] : []),
		...(capabilities.seed ? [] : ['Seeds are ignored, so the same question may get different answers.']),
		...(temperature === 0 && samples > 1 ? ['At temperature 0, all samples are identical.'] : []),
	];
}

/** Completions that are still being generated. */
export class Drafts {
	readonly #started: readonly PlaygroundSample[];
	readonly #text: string[];
	readonly #made: (Generation | null)[];
	readonly #fresh: string[];

	constructor(started: readonly PlaygroundSample[]) {
		this.#started = started;
		this.#text = started.map(() => '');
		this.#made = started.map(() => null);
		this.#fresh = started.map(() => '');
	}

	add(index: number, text: string, generation: Generation | null): void {
		const before = this.#text[index];
		if (before === undefined || before.length > longestCompletion) return;
		const room = text.slice(0, longestCompletion + 1 - before.length);
		this.#text[index] = before + room;
		this.#fresh[index] += room;
		const made = this.#made[index] ?? null;
		if (generation !== null) this.#made[index] = made === null ? generation : joined(made, generation);
	}

	/** Returns the text added since the last call. */
	news(): { sample: number; text: string }[] {
		const parts = this.#fresh.flatMap((text, sample) => (text === '' ? [] : [{ sample, text }]));
		this.#fresh.fill('');
		return parts;
	}

	get samples(): PlaygroundSample[] {
		return this.#started.map((started, i) => ({
			...started,
			text: started.text.slice(0, started.given) + (this.#text[i] ?? ''),
			tokens: this.#made[i]?.tokens ?? 0,
		}));
	}

	/** Returns the completions as they were when generation was stopped. */
	ended(): PlaygroundSample[] {
		return this.samples.flatMap((sample, i) => {
			const made = this.#made[i] ?? null;
			if (made === null && this.#text[i] === '' && sample.given === 0) return [];
			const detail = joinedTokens(sample.detail, keptTokens(made?.detail ?? null));
			return [{ ...sample, finish: 'stopped' as const, detail }];
		});
	}
}

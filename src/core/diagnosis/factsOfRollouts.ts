import { rolloutEpisode } from '../../protocol/rolloutEpisode.ts';
import { hasText, type RolloutLine } from '../../protocol/rolloutLine.ts';
import { turnsOfRollout } from '../trace/conversation.ts';
import { findLanguageMix } from '../trace/languageMix.ts';
import { messageText } from '../trace/messageText.ts';
import { parseTrace, soleAnswer } from '../trace/parseTrace.ts';
import { RepetitionCounter } from '../trace/repetitionCounter.ts';
import type { TraceTags } from '../trace/trace.ts';
import { judgesAnswer } from './rewardNames.ts';
import type { EpisodeFacts, GroupFacts, StepFacts } from './stepFacts.ts';
import { limit } from './thresholds.ts';

/** Maximum number of characters examined per completion. */
const longestText = 200_000;
/**
 * Number of characters to search for loops at the end of a completion. Loops do not stop, so they are still visible
 * there; the limit keeps the search fast.
 */
const loopText = 20_000;
/**
 * Maximum number of characters kept per answer (enough to distinguish answers), and examined per completion to detect
 * the language.
 */
const longestAnswer = 200;
const languageText = 4000;
/** Prompts longer than this are not used to identify rows. */
const longestPrompt = 2000;
/** Maximum number of rewards for which identical completions are compared. */
const maxRewards = 50;

/** Created on first use, because its tables take a moment to build. */
let counter: RepetitionCounter | undefined;

/** Returns the language or script of a completion if it counts as mixed, or null otherwise. */
function mixedOf(completion: string): string | null {
	const { foreign, language, script } = findLanguageMix(completion.slice(0, languageText));
	return foreign >= limit('mixedLetters') ? (language ?? script ?? '') : null;
}

/** Returns the prompt if it is one of the values in the recorded dataset row. */
function promptOf({ prompt, row }: RolloutLine): { prompt?: string } {
	if (typeof prompt !== 'string' || prompt.length > longestPrompt || typeof row !== 'object' || row === null) return {};
	return Object.values(row).includes(prompt) ? { prompt } : {};
}

/** Facts for another trainer's rollout that made no calls, in a group where other rollouts did. */
const noCalls: EpisodeFacts = { calls: 0, failures: 0, cut: null };

function episodeOf(rollout: RolloutLine): EpisodeFacts | null {
	const episode = rolloutEpisode(rollout.extra);
	const calls = turnsOfRollout(rollout).flatMap((turn) => turn.calls);
	if (episode === null && calls.length === 0) return null;
	const stop = episode?.stop;
	return {
		calls: episode?.calls ?? calls.length,
		failures: episode?.failures ?? calls.filter(({ result }) => result?.failed).length,
		cut: stop === 'length' || stop === 'turns' ? stop : null,
	};
}

type Growing<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };

function correctOf(rewards: RolloutLine['rewards']): boolean | null {
	const name = Object.hasOwn(rewards, 'accuracy') ? 'accuracy' : Object.keys(rewards).find(judgesAnswer);
	const value = name === undefined ? null : (rewards[name] ?? null);
	return value === null ? null : value > 0.5;
}

/** Returns the truncated answer, with null text if it cannot be parsed. Returns null if the answer tags are unknown. */
function answerOf(completion: string, tags: TraceTags | null): { readonly text: string | null } | null {
	if (tags === null || tags.answer === null) return null;
	return { text: soleAnswer(parseTrace(completion, tags), tags)?.slice(0, longestAnswer).toLowerCase() ?? null };
}

/** Returns whether the answer is marked as the prompt requests. Used for runs from other trainers. */
function answeredOf(completion: string, prompt: string): boolean | null {
	if (/\\boxed/.test(prompt)) return /\\boxed\s*\{/.test(completion);
	if (/<answer>/i.test(prompt)) return /<answer>[\s\S]*?\S[\s\S]*?<\/answer>/i.test(completion.slice(-20_000));
	return null;
}

interface Group {
	readonly facts: Growing<GroupFacts>;
	/** Maps each distinct completion to the rewards of its first occurrence, by reward name. */
	readonly texts: Map<string, RolloutLine['rewards']>;
	readonly answers: (string | null)[];
	readonly mixed: (string | null)[];
	readonly episodes: (EpisodeFacts | null)[];
	readonly repeats: Map<string, { pairs: number; differ: number }>;
}

/** Reduces the rollouts of a step one at a time, so that their text does not have to stay in memory. */
export class FactsOfRollouts {
	readonly #tags: TraceTags | null;
	readonly #groups = new Map<number, Group>();

	/** @param tags template tags of the run, or null for runs from other trainers */
	constructor(tags: TraceTags | null) {
		this.#tags = tags;
	}

	add(rollout: RolloutLine): void {
		const completion = messageText(rollout.completion).slice(0, longestText);
		const prompt = this.#tags === null ? messageText(rollout.prompt).slice(-longestText) : '';
		let group = this.#groups.get(rollout.group);
		if (group === undefined) {
			group = {
				facts: {
					group: rollout.group,
					index: [],
					reward: [],
					correct: [],
					truncated: [],
					answered: [],
					repetition: [],
					distinct: 0,
					...(this.#tags === null ? {} : promptOf(rollout)),
				},
				texts: new Map(),
				answers: [],
				mixed: [],
				episodes: [],
				repeats: new Map(),
			};
			this.#groups.set(rollout.group, group);
		}
		const { facts, texts } = group;
		const known = hasText(rollout);
		const first = texts.get(completion);
		if (first === undefined) texts.set(completion, rollout.rewards);
		else if (known) countRepeats(group.repeats, first, rollout.rewards);
		facts.distinct = known && facts.distinct !== null ? texts.size : null;
		facts.index.push(rollout.index);
		facts.reward.push(rollout.reward !== null && Number.isFinite(rollout.reward) ? rollout.reward : null);
		facts.correct.push(correctOf(rollout.rewards));
		facts.truncated.push(rollout.truncated);
		const answer = known ? answerOf(completion, this.#tags) : null;
		const isMarked = answer !== null ? answer.text !== null : null;
		facts.answered.push(known && this.#tags === null ? answeredOf(completion, prompt) : isMarked);
		group.answers.push(answer?.text ?? null);
		group.episodes.push(episodeOf(rollout));
		group.mixed.push(known ? mixedOf(completion) : null);
		counter ??= new RepetitionCounter();
		const { share, ngrams } = counter.repeats(completion.slice(-loopText));
		facts.repetition.push(known ? (ngrams >= limit('loopWords') ? share : 0) : null);
	}

	of(step: number): StepFacts {
		const hasAnswers = this.#tags !== null && this.#tags.answer !== null;
		return {
			step,
			groups: [...this.#groups.values()].map(({ facts, answers, mixed, episodes, repeats }) => ({
				...facts,
				...(hasAnswers ? { answers } : {}),
				...(mixed.some((language) => language !== null) ? { mixed } : {}),
				...(episodes.some((episode) => episode !== null)
					? { episodes: episodes.map((episode) => episode ?? noCalls) }
					: {}),
				...(repeats.size === 0 ? {} : { repeats: Object.fromEntries(repeats) }),
			})),
		};
	}
}

/** For two rollouts with the same prompt and completion, counts which rewards scored them differently. */
function countRepeats(repeats: Group['repeats'], first: RolloutLine['rewards'], second: RolloutLine['rewards']): void {
	for (const [name, value] of Object.entries(second).slice(0, maxRewards)) {
		const before = Object.hasOwn(first, name) ? first[name] : null;
		if (typeof value !== 'number' || typeof before !== 'number') continue;
		const counts = repeats.get(name) ?? { pairs: 0, differ: 0 };
		repeats.set(name, { pairs: counts.pairs + 1, differ: counts.differ + (value === before ? 0 : 1) });
	}
}

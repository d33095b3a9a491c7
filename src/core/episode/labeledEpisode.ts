import * as v from 'valibot';
import { parseBoundedJson } from '../../base/boundedJson.ts';
import { decode } from '../../protocol/decode.ts';
import type { Episode, ToolCall } from '../../protocol/episode.ts';
import { expectationSchema } from '../../protocol/verification.ts';
import { describeExpectation, meetsExpectation } from '../reward/verification/labeledCase.ts';

/** A call. Its arguments can be anything, because labels can also cover invalid calls. */
const callSchema = v.strictObject({ name: v.string(), arguments: v.optional(v.unknown(), {}) });

const expectSchema = v.strictObject({
	/** Reward of the episode. */
	reward: v.exactOptional(expectationSchema),
	/** Turn rewards, in order; null matches any reward, or none. */
	turnRewards: v.exactOptional(v.array(expectationSchema)),
	/** Text that reset returns; null if it returns none. */
	observation: v.exactOptional(v.nullable(v.string())),
	/** Results of the calls as the model sees them, in order; null matches any result. */
	results: v.exactOptional(v.array(v.nullable(v.string()))),
	/** Value of `done` after the last call. */
	done: v.exactOptional(v.boolean()),
});

const episodeSchema = v.strictObject({
	/** Display name. Default: "episode 3". */
	name: v.optional(v.string()),
	/** Columns for reset. */
	row: v.optional(v.record(v.string(), v.unknown()), {}),
	/** Turns; each is a call, or a list of calls in one message. */
	calls: v.optional(v.pipe(v.array(v.union([callSchema, v.array(callSchema)])), v.maxLength(1000)), []),
	expect: expectSchema,
});

type Expect = v.InferOutput<typeof expectSchema>;

/** Line in NAME.episodes.jsonl: a row, calls, and the expected outcome of the episode. */
export interface LabeledEpisode {
	/** 1-based line number in the file. */
	readonly line: number;
	/** Name of the episode, or "episode N" by default, counting from 1. */
	readonly label: string;
	readonly row: Readonly<Record<string, unknown>>;
	readonly turns: readonly (readonly ToolCall[])[];
	readonly expect: Expect;
}

export interface ParsedEpisodes {
	readonly episodes: readonly LabeledEpisode[];
	readonly faults: readonly { readonly line: number; readonly message: string; readonly action: string }[];
}

const form =
	'{"row": {"number": 5}, "calls": [{"name": "guess", "arguments": {"number": 5}}], "expect": {"reward": 1}}';
const comment = /^\s*(?:\/\/|#)/;
/** Maximum number of characters per line. */
const longestLine = 4_000_000;

/**
 * Parses labeled episodes from JSONL. Blank lines and lines that start with `//` or `#` are skipped. Each invalid line is
 * reported as a fault with its line number; valid lines are kept.
 */
export function parseEpisodes(text: string): ParsedEpisodes {
	const episodes: LabeledEpisode[] = [];
	const faults: Fault[] = [];
	for (const [i, raw] of text.split('\n').entries()) {
		const line = i + 1;
		const source = i === 0 ? raw.replace(/^\uFEFF/, '') : raw;
		if (source.trim() === '' || comment.test(source)) continue;
		const label = `episode ${episodes.length + faults.length + 1}`;
		const parsed = parseLine(source);
		if ('message' in parsed) faults.push({ line, ...parsed });
		else episodes.push({ ...parsed, line, label: parsed.name ?? label });
	}
	return { episodes, faults };
}

type Fault = ParsedEpisodes['faults'][number];
type Parsed = Pick<LabeledEpisode, 'row' | 'turns' | 'expect'> & { readonly name: string | undefined };

function parseLine(source: string): Omit<Fault, 'line'> | Parsed {
	if (source.length > longestLine) {
		return { message: `has more than ${longestLine} characters`, action: 'Shorten the episode.' };
	}
	let value: unknown;
	try {
		value = parseBoundedJson(source);
	} catch {
		return { message: 'is not valid JSON', action: `Write one object per line, such as ${form}.` };
	}
	const decoded = decode(episodeSchema, value);
	if (!decoded.ok) {
		const path = Array.isArray(value) ? '' : (decoded.faults[0]?.path ?? '');
		const message = path === '' ? 'is not a labeled episode' : `has an unknown or invalid "${path.slice(0, 80)}"`;
		return { message, action: `Use this format: ${form}.` };
	}
	const { name, row, calls, expect } = decoded.value;
	if (Object.keys(expect).length === 0) {
		return {
			message: 'expects nothing',
			action: 'Add "reward", "turnRewards", "observation", "results", or "done" to "expect".',
		};
	}
	const turns = calls.map((turn) => (Array.isArray(turn) ? turn : [turn]));
	const count = turns.flat().length;
	if (expect.results !== undefined && expect.results.length > count) {
		const message = `expects ${expect.results.length} results for ${count} calls`;
		return { message, action: 'Write one result per call, or null to match any result.' };
	}
	if (expect.turnRewards !== undefined && expect.turnRewards.length > turns.length) {
		const message = `expects ${expect.turnRewards.length} turn rewards for ${turns.length} turns`;
		return { message, action: 'Write one per turn, or null to match any reward.' };
	}
	return { name, row, turns, expect };
}

/** Difference between an episode and its label. */
export interface LabelDifference {
	/** One sentence without a period. */
	readonly message: string;
	readonly expected?: string;
	readonly actual?: string;
	/** 1-based line in the environment file, if the episode failed there. */
	readonly line?: number;
}

/** Compares an episode with its label. Returns null if it matches. */
export function labelDifference({ expect, turns }: LabeledEpisode, episode: Episode): LabelDifference | null {
	const { error, observation } = episode;
	if (error !== undefined) {
		const message = `${error.during} failed: ${error.message.replace(/[.]$/, '')}`;
		return { message, ...(error.line === undefined ? {} : { line: error.line }) };
	}
	if (expect.observation !== undefined && expect.observation !== observation) {
		return differs('reset', quoted(expect.observation), quoted(observation));
	}
	const results = episode.turns.flatMap((turn) => turn.results);
	const [call] = turns.flat();
	for (const [i, expected] of (expect.results ?? []).entries()) {
		const { name = call?.name ?? 'call', content = null } = results[i] ?? {};
		if (expected !== null && expected !== content) {
			return differs(`call ${i + 1} (${name})`, quoted(expected), quoted(content));
		}
	}
	for (const [i, expected] of (expect.turnRewards ?? []).entries()) {
		const reward = episode.turns[i]?.reward ?? null;
		if (expected === null || meetsExpectation(reward, expected)) continue;
		return differs(`the reward of turn ${i + 1}`, describeExpectation(expected), String(reward ?? 'none'));
	}
	const done = episode.turns.at(-1)?.done ?? null;
	if (expect.done !== undefined && expect.done !== done) return differs('done', String(expect.done), String(done));
	if (expect.reward !== undefined && !meetsExpectation(episode.reward, expect.reward)) {
		return differs('the reward', describeExpectation(expect.reward), String(episode.reward));
	}
	return null;
}

function differs(what: string, expected: string, actual: string): LabelDifference {
	return {
		message: `${what} gives ${actual}, but ${expected} is expected`.replace(
			/^(done|the reward(?: of turn \d+)?) gives/,
			'$1 is',
		),
		expected,
		actual,
	};
}

function quoted(text: string | null): string {
	return text === null ? 'nothing' : JSON.stringify(text.length > 500 ? `${text.slice(0, 499)}…` : text);
}

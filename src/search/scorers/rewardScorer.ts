import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import type { ScoreItem, Scorer } from '../../core/search/scorer.ts';
import { r1Tags, type TraceTags } from '../../core/trace/trace.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import type { ScoreRow } from '../../protocol/scorer.ts';
import type { ScorerSpec } from '../../protocol/searchSpec.ts';
import { rewardHostFolder } from '../../rewards/rewardHostFolder.ts';
import { RewardHosts } from '../../rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../rewards/rewardPrograms.ts';
import type { RewardRunner, RewardSource } from '../../rewards/rewardRunner.ts';
import type { OpenScorer, ScorerContext } from './scorerContext.ts';

type RewardSpec = Extract<ScorerSpec, { use: 'reward' | 'process-reward' }>;

const fileSchema = v.object({
	file: v.pipe(v.string(), v.minLength(1)),
	name: v.optional(v.nullable(v.string()), null),
});
const builtInSchema = v.looseObject({ use: v.pipe(v.string(), v.minLength(1)), name: v.optional(v.string()) });

/**
 * Built-in rewards enforce their own limits (programs, servers, comparisons), so their process gets generous limits.
 */
const builtInLimits = { batchMs: 1_800_000, rowMs: 300_000 } as const;

/** Lowercase names of dataset fields that a scorer without the gold answer must not see. */
const goldNames =
	/^(?:gold.*|groundtruths?|rationales?|targets?|correct|expected|(?:gold|correct|final|expected|reference|right|true|target|model)?(?:answer|solution|reference|label|result|output|completion|response|option|choice)s?(?:key|text|value|index|idx)?)$/;
/** Maximum depth at which nested fields are checked; anything deeper is omitted. */
const deepest = 8;

/**
 * Opens any reward, built-in or from a file, in a separate supervised process. The reward gets the gold answer only if
 * the specification says so, which makes the scorer an oracle.
 */
export async function openRewardScorer(
	spec: RewardSpec,
	context: ScorerContext,
	signal?: AbortSignal,
): Promise<OpenScorer> {
	const { search } = context;
	const tags = context.spec.tags ?? context.policy.tags ?? r1Tags;
	const { file, entry, wanted } = namedBy(spec);
	const environment = { ...(search.environment ?? process.env) } as NodeJS.ProcessEnv;
	const python = file?.endsWith('.py') === true;
	const programs = python
		? await findRewardPrograms({ python: environment.REASONING_LAB_PYTHON ?? null })
		: { node: process.execPath, nodeEnvironment: {}, python: 'python3' };
	const hosts = new RewardHosts(programs, { folder: rewardHostFolder(), environment });
	try {
		const pair = (of: TraceTags['think']) => (of === null ? null : ([...of] as [string, string]));
		const own = {
			tags: { think: pair(tags.think), answer: pair(tags.answer) },
			task: null,
			folder: search.policies.folder,
		};
		const source: RewardSource =
			file === null ? { builtIns: [entry as { use: string; name: string }], context: own } : { file, context: own };
		const runner = hosts.open(source, file === null ? builtInLimits : {});
		const described = await runner.describe(signal);
		const names = described.map(({ name }) => name);
		const reward = wanted ?? (names.length === 1 ? names[0] : undefined);
		if (reward === undefined || !names.includes(reward)) {
			throw new Failure(
				'invalid',
				wanted === null
					? `${file} contains several rewards: ${names.join(', ')}.`
					: `${file ?? 'The built-in rewards'} has no reward "${wanted}"; available: ${names.join(', ')}.`,
				'Select one with "name".',
			);
		}
		const gold = spec.use === 'reward' && spec.gold;
		const steps = spec.use === 'process-reward' || entry?.use === 'process';
		const name = gold ? `${reward} (gold)` : reward;
		return {
			name,
			bind: ({ signal: ending }) => rewardScorer({ name, runner, reward, gold, steps, tags, signal: ending }),
			dispose: () => hosts.dispose(),
		};
	} catch (error) {
		hosts.dispose();
		throw error;
	}
}

interface Named {
	readonly file: string | null;
	readonly entry: { readonly use: string; readonly name: string; readonly [option: string]: unknown } | null;
	/** Name of the reward in the file; null selects the only one. */
	readonly wanted: string | null;
}

function namedBy(spec: RewardSpec): Named {
	if (spec.use === 'process-reward') {
		const aggregate = spec.aggregate === 'prod' ? 'product' : spec.aggregate;
		const entry = { ...spec.settings, use: 'process', name: 'process', aggregate };
		return { file: null, entry, wanted: 'process' };
	}
	const { reward } = spec;
	if (typeof reward === 'string') {
		return { file: null, entry: { use: reward, name: reward }, wanted: reward };
	}
	if ('file' in reward) {
		const { file, name } = decodeOrThrow(fileSchema, reward, 'The scorer');
		return { file, entry: null, wanted: name };
	}
	const { weight: _, ...builtIn } = decodeOrThrow(builtInSchema, reward, 'The scorer') as Record<string, unknown>;
	const { use, name } = builtIn as { use: string; name?: string };
	return { file: null, entry: { ...builtIn, use, name: name ?? use }, wanted: name ?? use };
}

interface Parts {
	readonly name: string;
	readonly runner: RewardRunner;
	readonly reward: string;
	readonly gold: boolean;
	readonly steps: boolean;
	readonly tags: TraceTags;
	readonly signal: AbortSignal;
}

function rewardScorer({ name, runner, reward, gold, steps, signal }: Parts): Scorer {
	let valued = false;
	return {
		name,
		scope: steps ? 'step' : 'final',
		oracle: gold,
		async score(items) {
			const places = items.flatMap((item, i) => (steps || item.final ? [i] : []));
			const values = items.map((): number | null => null);
			if (places.length === 0) return values;
			const rows = places.map((i) => rowOf(items[i] as ScoreItem, gold));
			const scored = await runner.score(reward, rows, { signal });
			for (const [k, i] of places.entries()) values[i] = scored.values[k] ?? null;
			valued ||= values.some((value) => value !== null);
			const [error] = scored.errors;
			// An error in one row affects only that row's value, but a reward that has failed on every row so far is broken.
			if (!valued && error !== undefined && scored.values.every((value) => value === null)) {
				throw new Failure(
					'invalid',
					`The reward ${name} failed: ${error.message}`,
					'Verify the reward on your data first.',
				);
			}
			return values;
		},
	};
}

function rowOf({ problem, completion, generation }: ScoreItem, gold: boolean): ScoreRow {
	return {
		prompt: problem.prompt,
		completion,
		answer: gold ? problem.answer : null,
		row: gold ? problem.row : withoutGold(problem.row, problem.answer),
		truncated: generation === null ? null : generation.finish === 'length',
	};
}

/** Removes from a row the fields that contain the answer or whose names indicate that they do. */
export function withoutGold(
	row: Readonly<Record<string, unknown>>,
	answer: string | null,
): Readonly<Record<string, unknown>> {
	const gold = answer?.trim();
	const says = (value: unknown) => typeof value !== 'object' && gold !== undefined && String(value).trim() === gold;
	const clean = (value: unknown, depth: number): unknown => {
		if (typeof value !== 'object' || value === null) return value;
		if (depth > deepest) return null;
		if (Array.isArray(value)) return value.map((one) => (says(one) ? null : clean(one, depth + 1)));
		const kept = Object.entries(value).filter(
			([name, one]) => !goldNames.test(name.toLowerCase().replace(/[^a-z]/g, '')) && !says(one),
		);
		return Object.fromEntries(kept.map(([name, one]) => [name, clean(one, depth + 1)]));
	};
	return clean(row, 0) as Readonly<Record<string, unknown>>;
}

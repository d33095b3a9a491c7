import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Random } from '../../../../src/base/random.ts';
import { computeAdvantages } from '../../../../src/core/grpo/advantages/groupAdvantages.ts';
import { formatLine } from '../../../../src/files/jsonLines.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import type { RunRecord } from '../../../../src/protocol/runRecord.ts';
import { rolloutPath, runFiles } from '../../../../src/runs/runFiles.ts';

const weights = { accuracy: 1, format: 0.2 } as const;

/** Builds the run.json of an ended run; tests override what they need. */
export function runRecord(changes: Partial<RunRecord> = {}): RunRecord {
	return {
		format: 1,
		id: 'fixture',
		name: 'countdown',
		engine: 'embedded',
		status: 'finished',
		attempt: 1,
		stage: 'grpo',
		step: 40,
		totalSteps: 40,
		created: 1_763_640_000,
		updated: 1_763_640_900,
		heartbeat: 1_763_640_900,
		host: 'fixture',
		boot: 'fixture',
		pid: 1,
		processStart: '0',
		device: 'cpu (2 workers)',
		parent: null,
		seeds: {},
		versions: {},
		hashes: { recipe: '', dataset: '', rewards: '' },
		...changes,
	};
}

export async function writeRecord(run: string, record: RunRecord): Promise<void> {
	await mkdir(join(run, runFiles.rollouts), { recursive: true });
	await writeFile(join(run, runFiles.record), JSON.stringify(record));
}

export async function writeRollouts(run: string, step: number, lines: readonly unknown[]): Promise<void> {
	await writeFile(rolloutPath(run, step), lines.map(formatLine).join(''));
}

export async function writeMetrics(
	run: string,
	steps: readonly { step: number; lines: readonly RolloutLine[] }[],
): Promise<void> {
	const text = steps.map(({ step, lines }) => {
		const rewards = lines.map((line) => line.reward ?? 0);
		const groups = Map.groupBy(lines, (line) => line.group);
		const dead = [...groups.values()].filter((group) => new Set(group.map((line) => line.reward)).size === 1).length;
		return formatLine({
			step,
			time: 1_763_640_000 + step,
			stage: 'grpo',
			reward: rewards.reduce((sum, value) => sum + value, 0) / Math.max(1, rewards.length),
			frac_reward_zero_std: dead / Math.max(1, groups.size),
		});
	});
	await writeFile(join(run, runFiles.metrics), text.join(''));
}

const thoughts = [
	'First, I add the two largest numbers.',
	'Let me check that again.',
	'Wait, that is too large.',
	"Hmm, this doesn't work, so I try another order.",
	'We would need 7 times something here.',
	'So the difference is what remains.',
	'Next, I multiply by the last number.',
	'Actually, subtracting first may be better.',
];

export interface BatchOptions {
	readonly step: number;
	readonly seed?: number;
	readonly groups?: number;
	readonly size?: number;
	/** Maximum number of sentences in the thinking. */
	readonly sentences?: number;
	/** Probability that a completion is correct. */
	readonly skill?: number;
	readonly tokens?: boolean;
}

/** Builds a generation batch like an engine's: groups with mixed rewards, some dead, some truncated, some malformed. */
export function makeBatch({
	step,
	seed = 1,
	groups = 8,
	size = 8,
	sentences = 3,
	skill = 0.5,
	tokens = true,
}: BatchOptions): RolloutLine[] {
	const random = Random.of(seed, 'rollouts', step);
	const lines: RolloutLine[] = [];
	for (let group = 0; group < groups; group++) {
		const [a, b, c] = [random.between(2, 97), random.between(2, 97), random.between(2, 12)];
		const answer = String((a + b) * c);
		const chance = random.next() < 0.2 ? 0 : skill;
		const rows = Array.from({ length: size }, (_, index): Omit<RolloutLine, 'advantage'> => {
			const right = random.next() < chance;
			const truncated = !right && random.next() < 0.15;
			const said = Array.from({ length: 1 + random.int(sentences) }, () => random.pick(thoughts)).join(' ');
			const given = right ? answer : String(Number(answer) + random.between(1, 9));
			const whole = `<think>${a} + ${b} = ${a + b}. ${said} ${a + b} * ${c} = ${given}.</think>\n<answer>${given}</answer>`;
			const completion = truncated
				? whole.slice(0, whole.length * (0.4 + random.next() * 0.3))
				: random.next() < 0.1
					? whole.replace('</think>', '')
					: whole;
			const formed = !truncated && completion === whole;
			const rewards = { accuracy: right && formed ? 1 : 0, format: formed ? 1 : 0 };
			const reward = rewards.accuracy * weights.accuracy + rewards.format * weights.format;
			const text = completion.match(/<\/?\w+>|\w+|[^\w]/g) ?? [];
			const entropy = text.map(() => Math.round(random.next() ** 3 * 3 * 1e4) / 1e4);
			return {
				step,
				stage: 'grpo',
				group,
				index,
				prompt: `(${a} + ${b}) * ${c} =`,
				completion,
				answer,
				row: { a, b, c },
				rewards,
				reward,
				truncated,
				...(tokens
					? { tokens: { text, logprob: entropy.map((value) => 0 - Math.round(value * 1.4 * 1e4) / 1e4), entropy } }
					: {}),
			};
		});
		const rewards = rows.map((row) => row.reward as number);
		const { values } = computeAdvantages(rewards, size, 'group');
		for (const [i, row] of rows.entries()) lines.push({ ...row, advantage: values[i] ?? 0 } as RolloutLine);
	}
	return lines;
}

/** Writes a finished run with rollouts at the given steps. */
export async function writeRun(
	run: string,
	steps: readonly number[],
	options: Omit<BatchOptions, 'step'> = {},
): Promise<void> {
	const last = steps.at(-1) ?? 1;
	await writeRecord(run, runRecord({ step: last, totalSteps: last }));
	const batches = steps.map((step) => ({
		step,
		lines: makeBatch({ ...options, step, skill: options.skill ?? 0.25 + (0.6 * step) / last }),
	}));
	for (const { step, lines } of batches) await writeRollouts(run, step, lines);
	await writeMetrics(run, batches);
}

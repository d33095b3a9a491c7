import { mkdir, open, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Random } from '../../src/base/random.ts';

export interface RolloutFolderOptions {
	readonly rollouts: number;
	/** Rollouts per group, and groups per step. */
	readonly perGroup?: number;
	readonly groups?: number;
	/** Mean line size in bytes. */
	readonly bytes?: number;
	readonly seed?: number;
	/** Whether to write the files of verl (trainer.rollout_data_dir) instead of a run in our own format. */
	readonly verl?: boolean;
	/** Interval, in steps, at which token texts and log-probabilities are recorded; 0 means never. */
	readonly tokensEvery?: number;
}

const openings = [
	'Let me think about this step by step. ',
	'First, I need to find what the problem asks for. ',
	'Okay, so the question gives several numbers, and I want to combine them.\n\n',
	'We are told the train leaves at noon; the distance is what matters. ',
];
const middles = [
	'The sum of the first and the second number is {a}, and their product is {b}. ',
	'Adding {a} to {b} gives {c}, so the difference must be smaller than that.\n',
	'Wait, {a} - {b} is negative; that does not work. Let me try another approach. ',
	'If x = {a}, then 3x + {b} = {c}, which matches the second condition. ',
	'Using \\frac{{a}}{{b}} \\cdot \\sqrt{{c}} we get an expression that "simplifies" nicely.\n\n',
	'Let me check this: {a} * {b} = {c}. Hmm, that is too large. ',
	'So far: [{a}, {b}, {c}] — the remaining steps are similar (see above). ',
	'Therefore the number of ways is {a} choose {b}, that is {c}. ',
	'Consider the case where n = {a}; by induction it holds for n + 1 as well. ',
	'The probability is {a}/{b} ≈ 0.{c}, because the events are independent. ',
	'Then, we compute the remainder of {c} modulo {a}, which leaves {b}.\n',
	'Each of the {a} workers finishes {b} parts an hour, so after {c} hours they stop. ',
];
const rare = ['überraschend', 'kaleidoscope', '双重检查', 'perpendicular bisector'];

/**
 * Writes a run in Reasoning Lab's own format, or verl's, with the requested number of rollouts: completions with
 * arithmetic reasoning, tags, quotes, line breaks, LaTeX and some non-ASCII letters. About one rollout in 50,000
 * contains "kaleidoscope".
 * @returns size of the rollout files in bytes
 */
export async function makeRolloutFolder(folder: string, options: RolloutFolderOptions): Promise<number> {
	const { rollouts, perGroup = 8, groups = 125, bytes: mean = 5000, seed = 0, tokensEvery = 0, verl = false } = options;
	await mkdir(join(folder, 'rollouts'), { recursive: true });
	const { bavail, bsize } = await statfs(folder);
	if (bavail * bsize < rollouts * mean * 1.3 + 2e9) {
		throw new Error(
			`${folder} has ${Math.round((bavail * bsize) / 1e9)} GB free, not enough for ${rollouts} rollouts.`,
		);
	}
	const perStep = perGroup * groups;
	let bytes = 0;
	for (let step = 1, left = rollouts; left > 0; step++, left -= perStep) {
		const random = Random.of(seed, 'rollouts', step);
		const number = (n: number): number => Math.floor(random.next() * n);
		const parts: string[] = [];
		for (let i = 0; i < Math.min(left, perStep); i++) {
			const group = Math.floor(i / perGroup);
			const total = mean * (0.4 + 1.2 * random.next()) - 700;
			let text = openings[number(openings.length)] as string;
			while (text.length < total) {
				const [a, b, c] = [number(1000), number(100), number(100_000)].map(String) as [string, string, string];
				text += (middles[number(middles.length)] as string)
					.replaceAll('{a}', a)
					.replaceAll('{b}', b)
					.replaceAll('{c}', c);
			}
			const roll = number(50_000);
			if (roll < rare.length) text += `And here a ${rare[roll]} appears. `;
			const right = random.next() < 0.3 + (0.5 * step) / (rollouts / perStep);
			const answer = (group * 37 + step) % 997;
			const completion = `${text}</think>\n<answer>${right ? answer : answer + 1}</answer>`;
			const prompt = `Solve problem ${(group + step * groups) % 5000}: a farmer has ${group} sheep and ${step} goats, and every day sells as many as the day number. After how many days is the yard empty? Put your thinking into <think> tags and the answer into <answer> tags.\n<think>`;
			if (verl) {
				const row = { input: prompt, output: completion, gts: `${answer}`, score: right ? 1.5 : 0.5, step, acc: right };
				parts.push(JSON.stringify(row));
				continue;
			}
			const tokens = completion.match(/\s?\S+/g) ?? [];
			parts.push(
				JSON.stringify({
					step,
					stage: 'grpo',
					group,
					index: i % perGroup,
					prompt,
					completion,
					answer: `${answer}`,
					rewards: { accuracy: right ? 1 : 0, format: 1, length: Math.round(random.next() * 1e6) / 1e6 },
					reward: (right ? 1 : 0) + 0.5,
					advantage: Math.round((random.next() - 0.5) * 2e6) / 1e6,
					truncated: number(20) === 0,
					...(tokensEvery > 0 && step % tokensEvery === 0
						? {
								tokens: {
									text: tokens,
									logprob: tokens.map(() => Math.round(Math.log(random.next() + 1e-9) * 1e6) / 1e6),
									entropy: tokens.map(() => Math.round(random.next() * 1e6) / 1e6),
								},
							}
						: { extra: { length: tokens.length } }),
				}),
			);
		}
		const data = Buffer.from(`${parts.join('\n')}\n`);
		bytes += data.length;
		const name = verl ? `${step}.jsonl` : `step_${`${step}`.padStart(6, '0')}.jsonl`;
		const file = await open(join(folder, 'rollouts', name), 'w');
		await file.write(data);
		await file.close();
	}
	if (!verl) await writeRecord(folder, Math.ceil(rollouts / perStep));
	return bytes;
}

async function writeRecord(folder: string, steps: number): Promise<void> {
	const time = 1_763_640_000;
	await writeFile(
		join(folder, 'run.json'),
		JSON.stringify({
			format: 1,
			id: 'bench',
			name: 'bench',
			engine: 'embedded',
			status: 'finished',
			attempt: 1,
			stage: 'grpo',
			step: steps,
			totalSteps: steps,
			created: time,
			updated: time,
			heartbeat: time,
			host: 'bench',
			boot: 'bench',
			pid: 1,
			processStart: 'bench',
			device: 'cpu',
			parent: null,
			seeds: {},
			versions: {},
			hashes: { recipe: '', dataset: '', rewards: '' },
			rewards: [
				{ name: 'accuracy', weight: 1 },
				{ name: 'format', weight: 0.5 },
				{ name: 'length', weight: 0 },
			],
		}),
	);
	const lines = Array.from({ length: steps }, (_, i) =>
		JSON.stringify({
			step: i + 1,
			time: time + i,
			stage: 'grpo',
			reward: 0.5 + i / steps,
			'completions/mean_length': 900,
		}),
	);
	await writeFile(join(folder, 'metrics.jsonl'), `${lines.join('\n')}\n`);
}

import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openRun } from '../../../../../src/runs/openRun.ts';
import { root } from '../../../../scripts/paths.ts';
import { readAll } from '../foreignFixtures.ts';
import { groupsIn, madeRun } from '../madeRun.ts';

/*
 * test/fixtures/trl-quirks: files that pyarrow wrote with the compressions and page versions that trainers use. They
 * contain what TRL may write: message lists, null or NaN rewards, log_extra columns, an older version's total.
 */
const quirks = join(root, 'test/fixtures/trl-quirks');

describe('TRL', () => {
	let folder: string;

	before(async () => {
		folder = await mkdtemp(join(tmpdir(), 'trl-'));
		await cp(quirks, folder, { recursive: true });
	});
	after(() => rm(folder, { recursive: true, force: true }));

	const linesOf = async (step: number, split: 'train' | 'validation' = 'train') => {
		const run = await openRun(folder);
		assert.equal(run.format, 'trl');
		const { rollouts } = await readAll(run, split);
		return rollouts.map(({ line }) => line).filter((line) => line.step === step);
	};

	it('sums the reward functions, skipping missing values and treating NaN as missing', async () => {
		const lines = await linesOf(1);
		assert.equal(lines.length, 24);
		assert.deepEqual(
			lines.slice(0, 4).map(({ rewards, reward }) => [rewards, reward]),
			[
				[{ accuracy: 1, style: null }, 1],
				[{ accuracy: 0, style: null }, 0],
				[{ accuracy: 0, style: 0.25 }, 0.25],
				[{ accuracy: 1, style: 0.25 }, 1.25],
			],
		);
		assert.deepEqual(
			(await linesOf(2, 'validation')).map(({ reward, advantage }) => [reward, advantage]),
			Array.from({ length: 4 }, () => [null, null]),
		);
	});

	it('distinguishes log_extra columns from rewards using the metrics', async () => {
		const [line] = await linesOf(1);
		assert.deepEqual(Object.keys(line?.rewards ?? {}), ['accuracy', 'style']);
		assert.deepEqual(line?.extra, { extracted: '0', difficulty: 0 });
		await rm(join(folder, 'checkpoint-4'), { recursive: true });
		const [alone] = await linesOf(1);
		assert.deepEqual(Object.keys(alone?.rewards ?? {}), ['accuracy', 'style', 'difficulty']);
		await cp(join(quirks, 'checkpoint-4'), join(folder, 'checkpoint-4'), { recursive: true });
	});

	it('separates adjacent groups with the same prompt by the common group size', async () => {
		const lines = await linesOf(1);
		assert.deepEqual(
			groupsIn(lines),
			lines.map((_, i) => Math.floor(i / 8)),
		);
		assert.deepEqual(
			lines.map(({ index }) => index),
			lines.map((_, i) => i % 8),
		);
	});

	it('reads prompts and completions in message format', async () => {
		const [line] = await linesOf(1);
		assert.deepEqual(line?.prompt, [{ role: 'user', content: 'a' }]);
		assert.deepEqual(line?.completion, [{ role: 'assistant', content: 'answer 0\u2028🤔' }]);
	});

	it('knows whether completions were truncated if the logged ratio is exactly 1 or 0', async () => {
		const path = join(folder, 'checkpoint-4/trainer_state.json');
		const text = await readFile(path, 'utf8');
		const state = JSON.parse(text) as { log_history: Record<string, number | null>[] };
		const log = async (shares: (row: Record<string, number | null>) => Record<string, number>) => {
			const log_history = state.log_history.map((row) => ({ ...row, ...shares(row) }));
			await writeFile(path, JSON.stringify({ ...state, log_history }));
		};
		const ends = async (step: number, split?: 'validation') => [
			...new Set((await linesOf(step, split)).map(({ truncated }) => truncated)),
		];
		for (const [share, known] of [
			[1, true],
			[0, false],
			[0.5, null],
		] as const) {
			await log((row) => (row.step === 1 ? { 'completions/clipped_ratio': share } : {}));
			assert.deepEqual(await ends(1), [known]);
			assert.deepEqual(await ends(3), [null]);
			// Metrics of the evaluation, whose completions belong to step 2.
			await log((row) =>
				'eval_runtime' in row ? { 'eval_completions/clipped_ratio': share, eval_samples_per_second: 1 } : {},
			);
			assert.deepEqual([await ends(1), await ends(2, 'validation')], [[null], [known]]);
		}
		await writeFile(path, text);
	});

	it('uses the recorded total reward of an older version', async () => {
		const lines = await linesOf(3);
		assert.deepEqual(groupsIn(lines), [0, 0, 1, 1]);
		assert.deepEqual(
			lines.map(({ reward, rewards }) => [reward, rewards]),
			[1, 0, 0.5, null].map((reward) => [reward, {}]),
		);
	});

	it('sorts steps by number, and reads true as 1', async () => {
		const run = await openRun(folder);
		assert.deepEqual([await run.steps(), await run.steps('validation')], [[1, 3, 10], [2]]);
		assert.deepEqual(
			(await linesOf(10)).map(({ reward }) => reward),
			[1, 0],
		);
	});

	it('merges the rows of a step, and uses the latest readable checkpoint', async () => {
		const state = JSON.parse(await readFile(join(quirks, 'checkpoint-4/trainer_state.json'), 'utf8'));
		const older = { ...state, log_history: [{ step: 1, loss: 9 }] };
		const { metrics, faults, run } = await madeRun({
			'checkpoint-1/trainer_state.json': older,
			'checkpoint-4/trainer_state.json': state,
			'checkpoint-10/trainer_state.json': '{"log_history": [{"step": 1,',
		});
		assert.equal(run.format, 'trl');
		assert.deepEqual(
			metrics.map(({ step, values }) => [step, values.loss, values.reward]),
			[
				[1, 0.1, 0.5],
				[2, 0.2, 0.6],
				[4, 0.4, 0.7],
			],
		);
		assert.equal(metrics[1]?.values.eval_reward ?? metrics[1]?.values['eval/reward'], 0.7);
		assert.deepEqual(
			faults.map(({ file, message }) => [file, message]),
			[['checkpoint-10/trainer_state.json', 'invalid JSON']],
		);
	});

	it('describes the run from its trainer state', async () => {
		const record = await (await openRun(folder)).record();
		assert.equal(record.engine, 'foreign');
		assert.equal(record.totalSteps, 10);
		assert.equal(record.step, 10);
		assert.deepEqual(record.rewards, [
			{ name: 'accuracy', weight: 1 },
			{ name: 'style', weight: 1 },
		]);
		assert.match(
			record.foreign?.notes.join(' ') ?? '',
			/no groups.*neither the total reward nor weights.*evaluation.*each is assumed to be 1/,
		);
	});

	it('counts truncated and invalid Parquet files, and reads the others', async () => {
		const whole = await readFile(join(quirks, 'completions/completions_00001.parquet'));
		const garbled = Buffer.from(whole);
		garbled.fill(0xff, 200, 600);
		const { train, faults } = await madeRun({
			'completions/completions_00001.parquet': whole,
			'completions/completions_00002.parquet': whole.subarray(0, whole.length - 100),
			'completions/completions_00003.parquet': 'PAR1 but not really PAR1',
			'completions/completions_00004.parquet': new Uint8Array(0),
			'completions/completions_00005.parquet': garbled,
		});
		const read = (step: number) => train.filter((line) => line.step === step).length;
		assert.equal(read(1), 24);
		const lost = (step: number) =>
			faults.filter(({ file }) => file.includes(`0000${step}`)).reduce((sum, { records }) => sum + records, 0);
		for (const step of [2, 3, 4]) assert.deepEqual([read(step), lost(step)], [0, 1], `step ${step}`);
		assert.ok(lost(5) > 0);
		assert.equal(read(5) + lost(5), 24);
	});

	/*
	 * test/fixtures/trl-wandb: TRL 0.21.0 run with W&B 0.31.0 offline, reward_weights 1 and 0.25, evaluated every 2
	 * steps.
	 */
	it('reads the W&B tables in which versions up to 0.24 stored completions', async () => {
		const run = await openRun(join(root, 'test/fixtures/trl-wandb'));
		assert.equal(run.format, 'trl');
		const { rollouts: train } = await readAll(run, 'train');
		const { rollouts: evaluated } = await readAll(run, 'validation');
		const perStep = (of: typeof train) => Object.entries(Object.groupBy(of, ({ line }) => line.step ?? 'none'));
		// At the end of training, the last table is logged again, and it belongs to an evaluation.
		assert.deepEqual(
			perStep(train).map(([step, lines]) => [step, lines?.length]),
			['1', '2', '3', '4'].map((step) => [step, 16]),
		);
		assert.deepEqual(
			perStep(evaluated).map(([step, lines]) => [step, lines?.length]),
			['2', '4'].map((step) => [step, 16]),
		);
		for (const { line } of [...train, ...evaluated]) {
			const { digits, brevity } = line.rewards as { digits: number; brevity: number };
			assert.equal(line.reward, digits + brevity * 0.25);
		}
		assert.deepEqual(run.faults, []);
		// W&B's own run folder: no metrics, but it shows which table came last in a step.
		const inside = 'wandb/offline-run-20251120_120000-a1b2c3d4';
		const alone = await openRun(join(root, 'test/fixtures/trl-wandb', inside));
		const { rollouts } = await readAll(alone, 'train');
		assert.deepEqual(
			rollouts.map(({ line }) => line.reward),
			train.map(({ line }) => line.reward),
		);
	});

	it('reports what is missing if there are only metrics', async () => {
		const state = await readFile(join(root, 'test/fixtures/trl-wandb/checkpoint-4/trainer_state.json'), 'utf8');
		const at = join(folder, 'metrics-only');
		await mkdir(at, { recursive: true });
		await writeFile(join(at, 'trainer_state.json'), state);
		const { foreign } = await (await openRun(at)).record();
		assert.match(foreign?.notes.join(' ') ?? '', /no completions.*TRL up to 0\.24 writes them only to W&B/);
	});

	it('is recognized by event files alone, from the names used by the transformers callback', async () => {
		const at = join(folder, 'events-only/runs/Nov20_host');
		await mkdir(at, { recursive: true });
		const { eventFile } = await import('../eventBytes.ts');
		await writeFile(
			join(at, 'events.out.tfevents.1.host.1.0'),
			eventFile([
				{ step: 5, tag: 'train/rewards/accuracy/mean', value: 0.25 },
				{ step: 5, tag: 'train/completion_length', value: 12 },
				{ step: 5, tag: 'eval/reward', value: 0.5 },
			]),
		);
		for (const place of [join(folder, 'events-only'), at]) {
			const run = await openRun(place);
			assert.equal(run.format, 'trl');
			const rows = [];
			for await (const lines of run.metrics()) rows.push(...lines);
			assert.deepEqual(
				rows.map(({ step, values }) => [step, values['rewards/accuracy/mean']]),
				[[5, 0.25]],
			);
			assert.equal(Object.keys(rows[0]?.values ?? {}).length, 3);
		}
	});
});

import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { withMarks } from '../../../../../src/extension/panels/dashboard/dashboardMarks.ts';
import { actionsFor, stagesOf } from '../../../../../src/extension/panels/dashboard/dashboardRun.ts';
import { DashboardSession } from '../../../../../src/extension/panels/dashboard/dashboardSession.ts';
import { appHtml, contentSecurityPolicy, makeNonce } from '../../../../../src/extension/panels/webviewHtml.ts';
import { formatLine } from '../../../../../src/files/jsonLines.ts';
import { type DashboardEvent, dashboardEventSchema } from '../../../../../src/protocol/dashboardMessages.ts';
import { decodeOrThrow } from '../../../../../src/protocol/decode.ts';
import { renameRun } from '../../../../../src/runs/runActions.ts';
import { runFiles } from '../../../../../src/runs/runFiles.ts';
import { RunWriter } from '../../../../../src/runs/runWriter.ts';
import { DashboardModel } from '../../../../../webview/dashboard/dashboardModel.ts';
import { madeUpMetrics, writeMetricsRun } from '../../../webview/dashboard/dashboardFixture.ts';
import { writeRecord } from '../../fixtureRun.ts';

let root: string;
let runs = 0;
before(async () => {
	root = await mkdtemp(join(tmpdir(), 'dashboard-'));
});
after(() => rm(root, { recursive: true, force: true }));
/** Resources to dispose even if a test fails, because their timers would keep the process alive. */
const started: (() => unknown)[] = [];
afterEach(async () => {
	for (const end of started.splice(0).reverse()) await end();
});
const newRun = (): string => join(root, `run${runs++}`);

/** Connects a session to a model. Events are decoded in between, as in the webview. */
function follow(run: string, options: { chunkBytes?: number; lose?: (event: DashboardEvent) => boolean } = {}) {
	const model = new DashboardModel();
	const events: DashboardEvent[] = [];
	let resyncs = 0;
	const session: DashboardSession = new DashboardSession(run, {
		newsMs: 5,
		pollMs: 40,
		...(options.chunkBytes === undefined ? {} : { chunkBytes: options.chunkBytes }),
		onName: () => undefined,
		post: async (event) => {
			if (options.lose?.(event)) return;
			events.push(decodeOrThrow(dashboardEventSchema, structuredClone(event), 'An event'));
			if (model.apply(events.at(-1) as DashboardEvent)) return;
			resyncs++;
			model.expectSnapshot();
			session.begin();
		},
	});
	started.push(() => session.dispose());
	session.begin();
	const until = async (what: string, holds: () => boolean): Promise<void> => {
		const end = Date.now() + 20_000;
		while (!holds()) {
			if (Date.now() > end) assert.fail(`Timed out waiting for: ${what}`);
			await new Promise((resolve) => setTimeout(resolve, 5));
		}
	};
	return { model, events, session, until, resyncs: () => resyncs };
}

const identity = {
	id: 'live',
	name: 'live',
	engine: 'embedded',
	stage: 'grpo',
	totalSteps: 40,
	device: 'cpu (1 worker)',
	parent: null,
	seeds: {},
	versions: {},
	hashes: { recipe: '', dataset: '', rewards: '' },
} as const;

describe('dashboard session', () => {
	it('follows name changes of an ended run', async () => {
		const run = newRun();
		await writeRecord(run, { name: 'sums' });
		const { model, until } = follow(run);
		await until('the name in the recipe', () => model.run?.name === 'sums');
		await renameRun(run, 'third try');
		await until('the new name', () => model.run?.name === 'third try');
	});

	it('sends nothing while its page is hidden, then catches up as soon as it is shown', async () => {
		const run = newRun();
		await writeMetricsRun(run, { sft: 10, grpo: 20 });
		const { model, events, session, until } = follow(run);
		await until('all rows', () => model.length === 30 && !model.loading);
		session.shown = false;
		const before = events.length;
		const lines = [...madeUpMetrics({ sft: 10, grpo: 40 })].slice(30);
		for (const { values, ...line } of lines) {
			await appendFile(join(run, runFiles.metrics), formatLine({ ...line, ...values }));
			await session.refresh();
		}
		await renameRun(run, 'renamed');
		await session.refresh();
		await new Promise((resolve) => setTimeout(resolve, 30));
		assert.equal(events.length, before);
		session.shown = true;
		await until(
			'the changes made while the page was hidden',
			() => model.length === 50 && model.run?.name === 'renamed',
		);
		assert.ok(events.length <= before + 2, `${events.length - before} events for 20 steps`);
	});

	it('sends which devices were tried', async () => {
		const run = newRun();
		await writeMetricsRun(run, { sft: 2 });
		const tried = [{ provider: 'webgpu', error: 'no WebGPU adapter was found' }];
		await appendFile(join(run, runFiles.events), formatLine({ time: 1, step: 0, type: 'device', took: 'cpu', tried }));
		const { model, until } = follow(run);
		await until('the notes', () => model.run?.deviceNotes !== undefined);
		assert.deepEqual(model.run?.deviceNotes, ['webgpu was not used: no WebGPU adapter was found.']);
	});

	it('sends all of a finished run in chunks', async () => {
		const run = newRun();
		await writeMetricsRun(run, { sft: 100, grpo: 300 });
		const { model, events, until } = follow(run, { chunkBytes: 20_000 });
		await until('all rows', () => model.length === 400 && !model.loading);
		assert.ok(events.filter((event) => event.type === 'rows').length > 4);
		const expected = [...madeUpMetrics({ sft: 100, grpo: 300 })];
		assert.deepEqual(
			[...model.table.step],
			expected.map((line) => line.step),
		);
		for (const name of ['reward', 'loss', 'eval/heldout/accuracy']) {
			assert.deepEqual(
				[...(model.column(name) ?? [])],
				expected.map((line) => line.values[name] ?? Number.NaN),
			);
		}
		assert.deepEqual(
			model.marks.map((mark) => mark.kind),
			['stage', 'stage', 'checkpoint', 'hyperparameters', 'alert'],
		);
		assert.equal(model.marks[3]?.step, 251);
		assert.equal(model.marks[3]?.label, 'learning_rate = 0.00005');
		assert.equal(model.run?.stages[1]?.lossType, 'dapo');
		assert.deepEqual(model.run?.actions, ['openLog', 'openFolder']);
	});

	it('sends the outline of a long run immediately, and eventually every row of its file', async () => {
		const run = newRun();
		await writeMetricsRun(run, { sft: 2000, grpo: 8000 });
		const { model, events, until } = follow(run);
		await until('all rows', () => model.length === 10_000 && !model.loading);
		// Recipe information and event marks may arrive before or after.
		const result = events.filter((event) => event.type !== 'run' && event.type !== 'marks');
		assert.deepEqual(
			result.slice(0, 2).map((event) => event.type),
			['snapshot', 'overview'],
		);
		const overview = result[1] as Extract<DashboardEvent, { type: 'overview' }>;
		assert.equal(overview.chunk.step[0], 1);
		assert.equal(overview.chunk.step.at(-1), 10_000);
		assert.ok(overview.chunk.step.length >= 400);
		const expected = [...madeUpMetrics({ sft: 2000, grpo: 8000 })];
		assert.deepEqual(
			[...model.table.step],
			expected.map((line) => line.step),
		);
		const names = new Set(expected.flatMap((line) => Object.keys(line.values)));
		assert.deepEqual(new Set(model.table.names), names);
		for (const name of names) {
			assert.deepEqual(
				model.column(name),
				Float64Array.from(expected, (line) => line.values[name] ?? Number.NaN),
				name,
			);
		}
	});

	it('follows a live run with deltas; a reloaded webview gets everything without rereading a line', async () => {
		const run = newRun();
		await mkdir(run);
		const writer = await RunWriter.create(run, identity);
		started.push(() => writer.close());
		await writer.updateRecord({ status: 'running' });
		const { model, session, until } = follow(run);
		for (let step = 1; step <= 20; step++) {
			await writer.appendMetrics({ step, time: step, stage: 'grpo', values: { reward: step } });
		}
		await until('20 rows', () => model.length === 20);
		assert.equal(model.run?.status, 'running');
		assert.deepEqual(model.run?.actions.slice(0, 2), ['pause', 'stop']);
		await writer.appendMetrics({ step: 21, time: 21, stage: 'grpo', values: { reward: 21 } });
		session.begin();
		await until('21 rows', () => model.length === 21);
		assert.deepEqual(
			[...model.table.step],
			Array.from({ length: 21 }, (_, i) => i + 1),
		);
		await writer.updateRecord({ status: 'paused' });
		await until('paused', () => model.run?.status === 'paused');
		assert.deepEqual(model.run?.actions[0], 'continue');
	});

	it('shows every step once after an in-place resume', async () => {
		const run = newRun();
		await mkdir(run);
		const writer = await RunWriter.create(run, identity);
		started.push(() => writer.close());
		for (let step = 1; step <= 10; step++) {
			await writer.appendMetrics({ step, time: step, stage: 'grpo', values: { reward: step } });
		}
		const { model, until } = follow(run);
		await until('10 rows', () => model.length === 10);
		await writer.close();
		const again = await RunWriter.reopen(run);
		started.push(() => again.close());
		await again.setAside(6);
		for (let step = 7; step <= 9; step++) {
			await again.appendMetrics({ step, time: 100 + step, stage: 'grpo', values: { reward: 100 * step } });
		}
		await until('the second attempt', () => model.run?.attempt === 2 && model.length === 9 && !model.loading);
		assert.deepEqual([...model.table.step], [1, 2, 3, 4, 5, 6, 7, 8, 9]);
		assert.deepEqual([...(model.column('reward') ?? [])], [1, 2, 3, 4, 5, 6, 700, 800, 900]);
	});

	it('recovers when an event is lost', async () => {
		const run = newRun();
		await mkdir(run);
		const writer = await RunWriter.create(run, identity);
		started.push(() => writer.close());
		let lost = 0;
		const { model, session, until, resyncs } = follow(run, {
			lose: (event) => event.type === 'rows' && event.chunk.from === 3 && lost++ === 0,
		});
		for (let step = 1; step <= 3; step++) {
			await writer.appendMetrics({ step, time: step, stage: 'grpo', values: { reward: step } });
		}
		await until('3 rows', () => model.length === 3);
		for (let step = 4; step <= 8; step++) {
			await writer.appendMetrics({ step, time: step, stage: 'grpo', values: { reward: step } });
			await session.refresh();
			await new Promise((resolve) => setTimeout(resolve, 10));
		}
		await until('8 rows', () => model.length === 8);
		assert.equal(lost, 1);
		assert.equal(resyncs(), 1);
	});

	it('reads evaluations from their own files if the metrics do not contain them', async () => {
		const run = newRun();
		await writeMetricsRun(run, {
			lines: [1, 2, 3].map((step) => ({ step, time: step, stage: 'grpo', values: { reward: step } })),
		});
		for (const step of [0, 2]) {
			const folder = join(run, runFiles.evaluations, `step_${String(step).padStart(6, '0')}`);
			await mkdir(folder, { recursive: true });
			const summary = {
				name: 'heldout',
				step,
				problems: 4,
				samples: 1,
				temperature: 1,
				accuracy: 0.25,
				low: 0.1,
				high: 0.5,
			};
			await writeFile(join(folder, 'heldout.json'), JSON.stringify(summary));
		}
		const { model, until } = follow(run);
		await until('the evaluations', () => model.length === 4 && !model.loading);
		assert.deepEqual([...model.table.step], [0, 1, 2, 3]);
		assert.deepEqual([...(model.column('eval/heldout/accuracy_high') ?? [])], [0.5, Number.NaN, 0.5, Number.NaN]);
	});

	it('reports why a run is unreadable, and continues once it is readable', async () => {
		const run = newRun();
		await mkdir(run, { recursive: true });
		await writeFile(join(run, runFiles.record), '{"format": 99}');
		const { model, until } = follow(run);
		await until('the error', () => model.run?.fault != null);
		assert.equal(model.run?.status, null);
		assert.match(model.run?.fault?.message ?? '', /format 99/);
		await writeMetricsRun(run, { sft: 5, grpo: 0 });
		await until('the run', () => model.length === 5 && model.run?.fault === null);
	});

	it('limits the size of data from a hostile folder', async () => {
		const run = newRun();
		await writeMetricsRun(run, {
			sft: 2,
			grpo: 0,
			record: {
				name: `\u202e${'x'.repeat(10_000)}`,
				stage: 'y'.repeat(10_000),
				status: 'crashed',
				error: { reason: 'z' as 'internal', message: 'm'.repeat(100_000) },
			},
			events: [{ time: 1, step: 1, type: 'alert', level: 'error', message: 'a\u0000\n'.repeat(10_000) }],
		});
		await appendFile(join(run, runFiles.metrics), `${'['.repeat(1000)}\n{"step":1e400,"time":1,"stage":"x"}\n{"torn`);
		await writeFile(join(run, runFiles.recipe), '{"stages": "all"}');
		const { model, until } = follow(run);
		await until('the rows', () => model.length === 2 && !model.loading);
		assert.ok((model.run?.name.length ?? 999) <= 120 && !model.run?.name.includes('\u202e'));
		assert.ok((model.run?.error?.message.length ?? 9999) <= 1000);
		assert.ok(model.marks.every((mark) => mark.label.length <= 400 && !mark.label.includes('\n')));
	});

	it('finds the step with the nearest rollouts', async () => {
		const run = newRun();
		await writeMetricsRun(run, { sft: 0, grpo: 12 });
		await mkdir(join(run, runFiles.rollouts), { recursive: true });
		for (const step of [4, 8]) await writeFile(join(run, runFiles.rollouts, `step_00000${step}.jsonl`), '');
		const { model, session, until } = follow(run);
		await until('the rows and the rollouts', () => model.length === 12 && session.rolloutStepFor(null) !== null);
		assert.deepEqual(
			[null, 3, 4, 7, 8, 12].map((step) => session.rolloutStepFor(step)),
			[8, 4, 4, 4, 8, 8],
		);
	});
});

describe('dashboard panel data', () => {
	it('offers the actions that the run state allows', () => {
		assert.deepEqual(actionsFor('crashed'), ['resume', 'openLog', 'openFolder']);
		assert.deepEqual(actionsFor('starting'), ['stop', 'openLog', 'openFolder']);
		assert.deepEqual(actionsFor(null), ['openFolder']);
	});

	it('reads as many stages of external recipes as it can', () => {
		assert.deepEqual(stagesOf(null), []);
		assert.deepEqual(stagesOf({ stages: [{ type: 1 }] }), []);
		const [stage] = stagesOf({ stages: [{ type: 'grpo', num_iterations: 2, steps_per_generation: 3 }] });
		assert.deepEqual([stage?.updatesPerBatch, stage?.lossType, stage?.steps], [6, null, null]);
	});

	it('keeps all stage marks when there are too many marks', () => {
		const stage = { time: 0, step: 0, type: 'stage', name: 'sft' };
		const many = Array.from({ length: 6000 }, (_, i) => ({ time: i, step: i, type: 'checkpoint' }));
		const marks = withMarks([], [stage, ...many]);
		assert.equal(marks.length, 5000);
		assert.equal(marks[0]?.kind, 'stage');
		assert.equal(marks.at(-1)?.step, 5999);
		assert.equal(formatLine(withMarks([], [{ time: 0, step: 0, type: 'surprise' }])), '[]\n');
	});

	it('has a page that can only load its own files', () => {
		const nonce = makeNonce();
		assert.notEqual(nonce, makeNonce());
		const policy = contentSecurityPolicy('https://self', nonce, makeNonce());
		assert.match(policy, /^default-src 'none'; script-src 'nonce-/);
		assert.doesNotMatch(policy, /unsafe|\*|connect-src/);
		const html = appHtml({ cspSource: 'https://self', script: 's"><script>', style: 'c' }, '<b>', nonce);
		assert.doesNotMatch(html, /"><script>/);
		assert.match(html, /<title>&lt;b&gt;<\/title>/);
	});
});

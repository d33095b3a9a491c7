import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { RolloutsSession } from '../../../../../src/extension/panels/rollouts/rolloutsSession.ts';
import { decodeOrThrow } from '../../../../../src/protocol/decode.ts';
import { type RolloutsEvent, rolloutsEventSchema } from '../../../../../src/protocol/rolloutsMessages.ts';
import { renameRun } from '../../../../../src/runs/runActions.ts';
import { runFiles } from '../../../../../src/runs/runFiles.ts';
import { widestGroup } from '../../../../../webview/rollouts/order.ts';
import { RolloutsModel } from '../../../../../webview/rollouts/rolloutsModel.ts';
import { fixtureFolder } from '../../../runs/importers/foreignFixtures.ts';
import { writeExploredRun } from '../../../webview/rollouts/exploredRunFixture.ts';
import {
	makeBatch,
	runRecord,
	writeMetrics,
	writeRecord,
	writeRollouts,
	writeRun,
} from '../../../webview/rollouts/rolloutsFixture.ts';

let root = '';
let runs = 0;
before(async () => {
	root = await mkdtemp(join(tmpdir(), 'rollouts-session-'));
});
after(() => rm(root, { recursive: true, force: true }));

const newRun = () => join(root, `run-${++runs}`);

/** Connects the panel session to the webview model without a browser. */
function connect(run: string, wake = true) {
	const events: RolloutsEvent[] = [];
	const waiting = new Set<() => void>();
	let lose = 0;
	const session = new RolloutsSession(run, {
		post: (event) => {
			const decoded = decodeOrThrow(rolloutsEventSchema, structuredClone(event), 'An event');
			events.push(decoded);
			if (lose > 0) lose--;
			else model.receive(decoded);
			for (const check of waiting) check();
		},
		onName: () => undefined,
		warn: () => undefined,
		newsMs: 5,
		pollMs: 50,
		listMs: 0,
	});
	const model: RolloutsModel = new RolloutsModel(
		(method, params) => session.readers[method as keyof typeof session.readers](params as never) as never,
		() => void session.begin(),
	);
	model.onChange(() => {
		for (const check of waiting) check();
	});
	/** Resolves when the condition is true; the test timeout bounds the wait. */
	const until = (condition: () => boolean) =>
		new Promise<void>((resolve) => {
			const check = () => {
				if (!condition()) return;
				waiting.delete(check);
				resolve();
			};
			waiting.add(check);
			check();
		});
	const groupReady = () => until(() => model.groupContent.state === 'ready');
	if (wake) void session.begin();
	return {
		session,
		model,
		events,
		until,
		groupReady,
		loseNext: () => {
			lose = 1;
		},
		dispose: () => {
			session.dispose();
			model.dispose();
		},
	};
}

const limit = { timeout: 20_000 };

test('a finished run opens at its latest step and the group with the largest spread', limit, async () => {
	const run = newRun();
	await writeRun(run, [1, 2, 5], { groups: 3, size: 4 });
	const { model, groupReady, events, dispose } = connect(run);
	await groupReady();
	assert.equal(events[0]?.type, 'snapshot');
	assert.deepEqual(
		model.steps.rows.map(({ step }) => step),
		[5, 2, 1],
	);
	assert.ok(model.steps.rows.every(({ reward, dead, stage }) => reward !== null && dead !== null && stage === 'grpo'));
	assert.deepEqual([model.step, model.group, model.live], [5, widestGroup(model.groups), false]);
	assert.equal(model.index, model.rows()[0]?.index);
	assert.equal(model.rows().length, 4);
	dispose();
});

test(
	'evaluations by another trainer are listed as they arrive, and when a newer one replaces an old one',
	limit,
	async () => {
		const run = newRun();
		const write = async (part: string, step: number) => {
			await mkdir(join(run, part), { recursive: true });
			const row = { input: '1+1=', output: `${step}`, gts: '2', score: 1, step };
			await writeFile(join(run, part, `${step}.jsonl`), `${JSON.stringify(row)}\n`);
		};
		await write('rollouts', 1);
		await write('val_dump', 1);
		const { model, groupReady, until, dispose } = connect(run);
		await groupReady();
		assert.deepEqual(model.run?.validation, [1]);
		await write('val_dump', 2);
		await until(() => model.run?.validation?.length === 2);
		assert.deepEqual(model.run?.validation, [1, 2]);
		await rename(join(run, 'val_dump', '2.jsonl'), join(run, 'val_dump', '3.jsonl'));
		await until(() => model.run?.validation?.at(-1) === 3);
		assert.deepEqual(model.run?.validation, [1, 3]);
		dispose();
	},
);

test('a live run is followed until the user selects something; then new steps are only counted', limit, async () => {
	const run = newRun();
	await writeRun(run, [1], { groups: 2, size: 2 });
	// Use this process as the engine, so the run counts as running.
	const { ownIdentity } = await import('../../../../../src/processes/processIdentity.ts');
	const live = runRecord({ status: 'running', step: 1, heartbeat: Date.now() / 1000, ...(await ownIdentity()) });
	await writeRecord(run, live);
	const { model, groupReady, until, dispose } = connect(run);
	await groupReady();
	assert.ok(model.live && model.follow);
	await writeRollouts(run, 2, makeBatch({ step: 2, groups: 2, size: 2 }));
	await until(() => model.step === 2 && model.groupContent.state === 'ready');
	assert.equal(model.unseen, 0);
	model.selectGroup(1);
	assert.equal(model.follow, false);
	await until(() => model.groupContent.state === 'ready');
	await writeRollouts(run, 3, makeBatch({ step: 3, groups: 2, size: 2 }));
	await writeRollouts(run, 4, makeBatch({ step: 4, groups: 2, size: 2 }));
	await until(() => model.unseen === 2);
	assert.deepEqual([model.step, model.group], [2, 1]);
	model.setFollow(true);
	await until(() => model.step === 4 && model.groupContent.state === 'ready');
	assert.equal(model.unseen, 0);
	dispose();
});

test('the panel shows the display name of the run', limit, async () => {
	const run = newRun();
	await writeRun(run, [1], { groups: 1, size: 2 });
	await renameRun(run, 'second try');
	const { model, groupReady, until, dispose } = connect(run);
	await groupReady();
	assert.equal(model.run?.name, 'second try');
	await renameRun(run, 'third try');
	await until(() => model.run?.name === 'third try');
	dispose();
});

test('metrics that arrive after their rollouts reach the list', limit, async () => {
	const run = newRun();
	await writeRecord(run, runRecord());
	const lines = makeBatch({ step: 1, groups: 2, size: 2 });
	await writeRollouts(run, 1, lines);
	const { model, until, dispose } = connect(run);
	await until(() => model.steps.rows.length === 1);
	assert.equal(model.steps.rows[0]?.reward, null);
	await writeMetrics(run, [{ step: 1, lines }]);
	await until(() => model.steps.rows[0]?.reward !== null);
	dispose();
});

test('a lost message is detected by its sequence number, and a snapshot is requested', limit, async () => {
	const run = newRun();
	await writeRun(run, [1], { groups: 2, size: 2 });
	const { model, groupReady, until, events, loseNext, dispose } = connect(run);
	await groupReady();
	loseNext();
	await writeRollouts(run, 2, makeBatch({ step: 2, groups: 1, size: 2 }));
	await until(() => events.length === 2);
	await writeRollouts(run, 3, makeBatch({ step: 3, groups: 1, size: 2 }));
	await until(() => model.steps.rows.length === 3);
	assert.equal(events.at(-1)?.type, 'snapshot');
	dispose();
});

test('a resume that sets files aside reloads the run', limit, async () => {
	const run = newRun();
	await writeRun(run, [1, 2, 3], { groups: 2, size: 2 });
	const { model, groupReady, until, dispose } = connect(run);
	await groupReady();
	model.selectStep(3, 1);
	await rm(join(run, runFiles.rollouts, 'step_000003.jsonl'));
	await writeRecord(run, runRecord({ attempt: 2, step: 2 }));
	await until(() => model.steps.rows.length === 2);
	await until(() => model.stepContent.state === 'failed');
	model.selectStep(2);
	await until(() => model.groupContent.state === 'ready');
	dispose();
});

test('a hidden view receives nothing, and catches up when it is shown again', limit, async () => {
	const run = newRun();
	await writeRun(run, [1], { groups: 2, size: 2 });
	const { session, model, groupReady, until, events, dispose } = connect(run);
	await groupReady();
	session.sleep();
	const heard = events.length;
	await writeRollouts(run, 2, makeBatch({ step: 2, groups: 1, size: 2 }));
	await new Promise((resolve) => setTimeout(resolve, 200));
	assert.equal(events.length, heard);
	await session.begin();
	await until(() => model.steps.rows.length === 2);
	assert.equal(events.at(heard)?.type, 'snapshot');
	dispose();
});

test('rollouts are readable even if run.json is not', limit, async () => {
	const run = newRun();
	await writeRun(run, [1, 2], { groups: 2, size: 2 });
	await writeFile(join(run, runFiles.record), '{"format": 1, "torn');
	const { model, groupReady, dispose } = connect(run);
	await groupReady();
	assert.deepEqual(
		model.steps.rows.map(({ step }) => step),
		[2, 1],
	);
	assert.equal(model.run?.status, null);
	dispose();
});

test('a location requested before the session starts is shown once it has started', limit, async () => {
	const run = newRun();
	await writeRun(run, [1, 2, 3], { groups: 4, size: 2 });
	const { session, model, until, dispose } = connect(run, false);
	session.show({ step: 2, group: 3 });
	await session.begin();
	await until(() => model.groupContent.state === 'ready');
	assert.deepEqual([model.step, model.group, model.follow], [2, 3, false]);
	dispose();
});

test('the model moves among steps, groups and completions, and stops at the ends', limit, async () => {
	const run = newRun();
	await writeRun(run, [1, 4, 9], { groups: 3, size: 4 });
	const { model, until, groupReady, dispose } = connect(run);
	const step = () => until(() => model.stepContent.state === 'ready' && model.groupContent.state === 'ready');
	await groupReady();
	model.moveStep(1);
	assert.equal(model.step, 9);
	model.moveStep(-1);
	await step();
	assert.equal(model.step, 4);
	model.moveStep(-5);
	await step();
	assert.equal(model.step, 1);
	model.selectGroup(0);
	await step();
	model.moveGroup(1);
	await step();
	assert.equal(model.group, 1);
	model.moveGroup(10);
	await step();
	assert.equal(model.group, 2);
	const shown = model.rows().map((row) => row.index);
	assert.ok(shown.length > 2, `${shown}`);
	model.moveCompletion(1);
	assert.equal(model.index, shown[1]);
	model.moveCompletion(9);
	assert.equal(model.index, shown.at(-1));
	model.setRowOrder('reward');
	const rewards = model.rows().map((row) => row.reward ?? 0);
	assert.deepEqual(
		rewards,
		[...rewards].sort((a, b) => b - a),
	);
	dispose();
});

test(
	'a filter that hides the open group selects the first match, and clearing the filter keeps the selection',
	limit,
	async () => {
		const run = newRun();
		await writeRecord(run, runRecord());
		const batch = makeBatch({ step: 1, groups: 3, size: 2 }).map((entry) => ({
			...entry,
			completion: entry.group === 2 ? 'the needle' : 'hay',
		}));
		await writeRollouts(run, 1, batch);
		const { model, until, groupReady, dispose } = connect(run);
		await groupReady();
		model.setFilters({ ...model.filters, text: 'needle' });
		await until(() => model.found !== null && model.group === 2 && model.groupContent.state === 'ready');
		assert.equal(model.groups.length, 1);
		assert.equal(model.groups[0]?.occurrences, 2);
		model.clearFilters();
		assert.equal(model.groups.length, 3);
		assert.equal(model.group, 2);
		model.setFilters({ ...model.filters, text: 'nowhere' });
		await until(() => model.found !== null && model.groups.length === 0);
		assert.deepEqual(model.rows(), []);
		dispose();
	},
);

test('the saved state restores the same location', limit, async () => {
	const run = newRun();
	await writeRun(run, [1, 2], { groups: 3, size: 3 });
	const first = connect(run);
	await first.groupReady();
	first.model.selectStep(1, 2);
	await first.until(() => first.model.groupContent.state === 'ready');
	first.model.selectCompletion(1);
	first.model.setRowOrder('length');
	const saved = first.model.saved();
	assert.ok(saved);
	first.dispose();
	const session = new RolloutsSession(run, {
		post: (event) => model.receive(event),
		onName: () => undefined,
		warn: () => undefined,
	});
	const model: RolloutsModel = new RolloutsModel(
		(method, params) => session.readers[method as keyof typeof session.readers](params as never) as never,
		() => undefined,
		saved,
	);
	const ready = new Promise<void>((resolve) => {
		model.onChange((changes) => changes.has('completion') && resolve());
	});
	await session.begin();
	await ready;
	assert.deepEqual([model.step, model.group, model.index, model.rowOrder], [1, 2, 1, 'length']);
	session.dispose();
});

test('loading a group beside the open one interrupts neither load', async (t) => {
	const run = join(root, 'beside');
	await writeExploredRun(run, 3);
	const session = new RolloutsSession(run, { post: () => undefined, onName: () => undefined, warn: () => undefined });
	t.after(() => session.dispose());
	const [passed, open, other] = await Promise.allSettled([
		session.readers.loadGroup({ step: 1, group: 0 }),
		session.readers.loadGroup({ step: 2, group: 0 }),
		session.readers.loadGroup({ step: 3, group: 0, beside: true }),
	]);
	assert.deepEqual(
		[passed, open, other].map((one) => one?.status),
		['rejected', 'fulfilled', 'fulfilled'],
	);
});

test('no step is shown for a run whose trainer records no steps', limit, async (context) => {
	const { model, groupReady, dispose } = connect(fixtureFolder('verifiers-v1'));
	context.after(dispose);
	await groupReady();
	assert.equal(model.run?.stepless, true);
	assert.equal(model.steps.rows.length, 1);
	assert.equal(model.placeText({ step: model.step ?? 0, group: 3 }), 'group 3');
});

/**
 * Writes a step with three groups: all wrong, one of four correct, three of four correct. Group 2 contains one
 * completion three times.
 */
async function writeAlike(run: string): Promise<void> {
	await writeRecord(run, runRecord());
	const rewards = [
		[0, 0, 0, 0],
		[1, 0, 0, 0],
		[1, 0, 1, 1],
	];
	const texts = [
		['a', 'b', 'c', 'd'],
		['a', 'b', 'c', 'd'],
		['same', 'other', 'same', 'same'],
	];
	const batch = makeBatch({ step: 1, groups: 3, size: 4 }).map((line, at) => {
		const [group, index] = [Math.floor(at / 4), at % 4];
		const reward = rewards[group]?.[index] ?? 0;
		const facts = {
			rewards: { accuracy: reward, format: 1 },
			correct: reward === 1,
			truncated: false,
			advantage: reward,
		};
		return {
			...line,
			...facts,
			reward: reward * (group + 1),
			completion: texts[group]?.[index] ?? '',
			tokens: undefined,
		};
	});
	await writeRollouts(run, 1, batch);
}

test('a step opens at the group with the largest spread, and identical completions are folded', limit, async () => {
	const run = newRun();
	await writeAlike(run);
	const { model, until, groupReady, dispose } = connect(run);
	const shown = () => model.rows().map(({ index }) => index);
	await groupReady();
	assert.equal(model.group, 2);
	assert.deepEqual([shown(), model.index], [[0, 1], 0]);
	assert.equal(model.toggleFold(1), null);
	model.toggleFold();
	assert.deepEqual(shown(), [0, 2, 3, 1]);
	model.moveCompletion(2);
	assert.equal(model.index, 3);
	model.toggleFold();
	assert.deepEqual([shown(), model.index], [[0, 1], 0]);
	// A link to a folded completion expands its fold.
	model.show({ split: 'train', step: 1, group: 2, index: 3 });
	await until(() => model.index === 3 && model.groupContent.state === 'ready');
	assert.deepEqual(shown(), [0, 2, 3, 1]);
	model.selectGroup(0);
	await groupReady();
	assert.deepEqual(shown(), [0, 1, 2, 3]);
	// Other groups start folded.
	model.selectGroup(2);
	await groupReady();
	assert.deepEqual(shown(), [0, 1]);
	dispose();
});

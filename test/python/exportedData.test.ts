import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as v from 'valibot';
import type { TextForm } from '../../src/core/export/textForms.ts';
import { resolveTemplate } from '../../src/core/text/template.ts';
import { exportRollouts } from '../../src/runs/exportRollouts.ts';
import { exportStepLabels } from '../../src/runs/exportStepLabels.ts';
import { openRun } from '../../src/runs/openRun.ts';
import { StepLabels } from '../../src/runs/stepLabels.ts';
import { root } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { runPython } from '../support/loadedPython.ts';

const found = await findTestPython(console.log);
const python = 'python' in found ? found.python : '';
// In CI, do not skip: a skipped suite would look like a passing one.
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;

const tags = resolveTemplate('r1');
const options = { replace: true };
const fixture = (name: string) => openRun(join(root, 'test/fixtures', name));
let folder: string;
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'exports-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const columns = { rows: v.number(), columns: v.array(v.string()), conversational: v.boolean() };
const replySchema = v.object({
	sft: v.object({ ...columns, loss: v.number(), text: v.string(), learnt: v.string() }),
	dpo: v.object({ ...columns, loss: v.number(), tokens: v.record(v.string(), v.string()) }),
	stepwise: v.object({ ...columns, loss: v.number(), labels: v.array(v.array(v.number())) }),
	prm800k: v.object({ ...columns, ratings: v.array(v.array(v.number())) }),
});

const path = (name: string) => join(folder, `${name}.jsonl`);

async function exportLabels(): Promise<void> {
	const labels = new StepLabels(join(folder, 'annotations'));
	for (const [index, ratings] of (
		[
			[1, 0, 1],
			[1, -1, 1],
		] as const
	).entries()) {
		await labels.save({
			...{ format: 1, time: 1_763_640_000, split: 'train', step: 1, group: 0, index },
			...{ prompt: '1+2=', answer: '3', rule: 'lines' },
			steps: ratings.map((rating, i) => ({ text: `step ${i}`, rating })),
		});
	}
	const own = { folder, format: 'reasoning-lab', name: 'labels' };
	await exportStepLabels(own, { as: 'trl-stepwise', now: 0 }, path('stepwise'), options);
	await exportStepLabels(own, { as: 'prm800k', now: 0 }, path('prm800k'), options);
}

async function trained(form: TextForm) {
	await exportLabels();
	const all = { split: 'train', selection: {}, tags } as const;
	// Conversational: messages with roles, separate thinking and several turns. Standard: text as sampled.
	const sft = await fixture(form === 'standard' ? 'trl-run' : 'prime-rl/run');
	const some = { ...all, selection: { steps: { to: 2 } } };
	const examples = await exportRollouts(sft, { as: 'sft', ...some, form }, path('sft'), options);
	const pairs = await exportRollouts(await fixture('trl-run'), { as: 'dpo', ...some, form }, path('dpo'), options);
	const files = ['sft', 'dpo', 'stepwise', 'prm800k'].map(path);
	const script = join(root, 'test/python/exported_data.py');
	const stdout = await runPython({ python, script, args: files });
	const reply = v.parse(replySchema, JSON.parse(stdout.trim().split('\n').at(-1) as string));
	assert.equal(reply.sft.rows, examples.written);
	assert.equal(reply.dpo.rows, pairs.written);
	for (const { loss } of [reply.sft, reply.dpo, reply.stepwise]) assert.ok(Number.isFinite(loss));
	assert.equal(reply.sft.conversational, form === 'conversational');
	assert.equal(reply.dpo.conversational, form === 'conversational');
	const lines = async (name: string) =>
		(await readFile(path(name), 'utf8'))
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line));
	return { reply, sft: await lines('sft'), dpo: await lines('dpo') };
}

/** Removes whitespace, because the character-level tokenizer decodes with spaces between characters. */
const plain = (text: string) => text.replaceAll(/\s/g, '');

describe('exported data in its target libraries', { skip }, () => {
	test("TRL's SFT, DPO and PRM trainers train on the standard formats", { timeout: 240_000 }, async () => {
		const { reply, sft, dpo } = await trained('standard');
		assert.deepEqual(reply.sft.columns, ['prompt', 'completion']);
		assert.equal(plain(reply.sft.text), plain(`${sft[0].prompt}${sft[0].completion}<eos>`));
		assert.equal(plain(reply.sft.learnt), plain(`${sft[0].completion}<eos>`), 'only the completion is trained on');
		assert.deepEqual(reply.dpo.columns, ['prompt', 'chosen', 'rejected']);
		assert.equal(plain(reply.dpo.tokens.prompt_ids ?? ''), plain(dpo[0].prompt));
		assert.equal(plain(reply.dpo.tokens.chosen_ids ?? ''), plain(`${dpo[0].chosen}<eos>`));
		assert.equal(plain(reply.dpo.tokens.rejected_ids ?? ''), plain(`${dpo[0].rejected}<eos>`));
		assert.deepEqual(reply.stepwise.labels, [
			[1, 0, 1],
			[1, 0, 1],
		]);
		assert.deepEqual(reply.prm800k.ratings, [
			[1, 0, 1],
			[1, -1],
		]);
	});

	test("TRL's trainers train on messages with separately recorded thinking", { timeout: 240_000 }, async () => {
		const { reply, dpo } = await trained('conversational');
		assert.match(plain(reply.sft.text), /^<\|system\|>You.*<\|end\|><\|user\|>.*<\|end\|><\|assistant\|>.*<\|end\|>$/);
		assert.ok(plain(reply.sft.text).endsWith(plain(reply.sft.learnt)));
		assert.ok(!reply.sft.learnt.includes('<|user|>'));
		assert.equal(
			plain(reply.dpo.tokens.prompt_ids ?? ''),
			plain(`<|user|>${dpo[0].prompt[0].content}<|end|><|assistant|>`),
		);
	});
});

/**
 * `node test/scripts/start.mjs test/scripts/recordDiagnosis.ts FOLDER SEED`: records the planted and healthy runs from
 * `npm run acceptance -- diagnosis --into FOLDER --seed SEED` as test/fixtures/diagnosis/planted. Includes the metrics
 * that rules read, to four significant digits, and the last rollouts of some groups in the form that rules receive.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StepFacts } from '../../src/core/diagnosis/stepFacts.ts';
import { diagnosisRunOf } from '../../src/runs/diagnosisRunOf.ts';
import { openRun } from '../../src/runs/openRun.ts';
import { stepFactsOf } from '../../src/runs/stepFactsOf.ts';
import { Campaign, type Finished } from '../support/diagnosis/campaign.ts';
import { healthy, kinds } from '../support/diagnosis/kinds.ts';
import { root } from './paths.ts';

const [folder, seed] = process.argv.slice(2);
if (folder === undefined || seed === undefined) throw new Error('recordDiagnosis.ts FOLDER SEED');

const read =
	/^(reward|reward_std|rewards\/.+|frac_reward_zero_std|kl|entropy|grad_norm|loss|completions\/(mean_length|clipped_ratio)|clip_ratio\/region_mean|eval\/heldout\/accuracy.*)$/;
const stepsKept = 24;
const groupsKept = 3;

const short = (value: number | null) => (value === null ? null : Number(value.toPrecision(4)));

async function record(name: string, { folder: run, metrics }: Finished, names: readonly string[]): Promise<void> {
	const content = await openRun(run);
	const { run: result, tags } = await diagnosisRunOf(content.folder, content.format, await content.record());
	const columns = [...new Set(metrics.flatMap(({ values }) => Object.keys(values)))].filter((key) => read.test(key));
	const lines = metrics.map(({ step, values }) => [step, ...columns.map((key) => short(values[key] ?? null))]);
	const steps: StepFacts[] = [];
	for (const step of (await content.steps()).slice(-stepsKept)) {
		const facts = await stepFactsOf(content, step, tags);
		if (facts !== null) steps.push({ step, groups: facts.groups.slice(0, groupsKept) });
	}
	const into = join(root, 'test/fixtures/diagnosis/planted');
	mkdirSync(into, { recursive: true });
	const stages = result.stages.map(({ type, settings }) => ({ type, settings }));
	const planted = { names, run: { ...result, dataset: result.dataset, stages }, columns, lines, steps };
	writeFileSync(join(into, `${name}.json`), `${JSON.stringify(planted)}\n`);
}

const campaign = new Campaign(folder, Number(seed));
await campaign.prepare();
for (const { name, edits } of healthy) await record(`healthy-${name}`, await campaign.train('cold', edits), []);
for (const { name, start, base, plant, names } of kinds) {
	await record(name, await campaign.train(start, [...base, ...plant]), names);
}

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { rankAlerts } from '../../../src/core/diagnosis/verdict.ts';
import { madeRun } from './importers/madeRun.ts';

const fixtures = join(import.meta.dirname, '../../fixtures');

type Row = Record<string, unknown>;
const rowsOf = async (path: string): Promise<Row[]> =>
	(await readFile(join(fixtures, path), 'utf8'))
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line) as Row);

/**
 * Returns the first alert for a verl log with the fixture's rows repeated and the given mismatch of sampler and
 * trainer.
 */
async function firstAlert(differences: Row): Promise<string | undefined> {
	const path = 'verl/metrics/grpo_math_qwen25_05b.jsonl';
	const trained = (await rowsOf(path)).filter(({ data }) => (data as Row)['actor/entropy'] !== undefined);
	const rows = Array.from({ length: 30 }, (_, i) => {
		const row = trained[i % trained.length] as Row;
		return { ...row, step: i + 1, data: { ...(row.data as Row), ...differences } };
	});
	const { metrics } = await madeRun({ 'metrics/run.jsonl': rows }, 'verl');
	assert.equal(metrics.length, 30);
	const alerts = diagnose({ format: 'verl', rewards: [], stages: [] }, { metrics });
	return rankAlerts(
		alerts,
		(alert) => alert,
		({ lastStep }) => lastStep === 30,
	)[0]?.id;
}

it("a sampler that differs from the trainer's policy is reported for a verl log, but usual differences are not", async () => {
	assert.equal(await firstAlert({ 'rollout_corr/k3_kl': 0.03 }), 'sampler-mismatch');
	assert.notEqual(await firstAlert({ 'rollout_corr/k3_kl': 0.0008, 'rollout_corr/kl': 0.001 }), 'sampler-mismatch');
	assert.notEqual(await firstAlert({}), 'sampler-mismatch');
});

/**
 * Kills or freezes small runs, pipelines and searches at random moments, fills their disk, removes their permissions,
 * changes their clock, or opens a second window. Once resumed, each must produce its normal outcome, with every line
 * intact and nothing left behind. `npm run acceptance -- faults [--count N] [--seed N] [--from N] [--only KIND]`;
 * outcomes are written to faults.json next to the logs.
 */
// @reaches engine driver trainer rewardHost rewardPython pipeline cli search
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Campaign, type Trial } from '../faults/campaign.ts';
import { pipelineKind } from '../faults/pipelineWork.ts';
import { embeddedKinds, pytorchKind } from '../faults/runWork.ts';
import { searchKind } from '../faults/searchWork.ts';
import { artifacts } from '../scripts/paths.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';

const { CHECK_COUNT: count = '200', CHECK_SEED: seed = '1', CHECK_FROM: from = '1', CHECK_ONLY: only } = process.env;
const found = await findTestPython(console.log);
const all = [
	...embeddedKinds,
	pipelineKind,
	pipelineKind,
	searchKind,
	searchKind,
	...('python' in found ? [pytorchKind] : []),
];
if ('python' in found) process.env.REASONING_LAB_TORCH_PYTHON = found.python;
const kinds = all.filter(({ name }) => only === undefined || name === only);

test(`work survives ${count} faults chosen by seed ${seed}`, {
	skip: process.platform === 'linux' ? false : 'needs /proc',
}, async () => {
	assert.ok(kinds.length > 0, `Unknown kind of work "${only}". Available: ${all.map(({ name }) => name).join(', ')}.`);
	const campaign = new Campaign({ seed: Number(seed), kinds, variants: 3, freezeMs: 30_000 });
	mkdirSync(artifacts, { recursive: true });
	const trials: Trial[] = [];
	for (let number = Number(from); number <= Number(count); number++) {
		const trial = await campaign.trial(number);
		trials.push(trial);
		const { work, fault, after, hit, resumes, losses } = trial;
		const how = losses.length > 0 ? `LOST ${losses.join('; ')}` : hit ? 'survived' : 'missed';
		console.log(`${number} ${work} ${trial.seed}, ${fault} after ${after} ms, ${resumes} resumes: ${how}`);
		writeFileSync(join(artifacts, 'faults.json'), JSON.stringify(trials, undefined, '\t'));
	}
	const lost = trials.filter(({ losses }) => losses.length > 0);
	const hits = trials.filter(({ hit }) => hit).length;
	console.log(`${trials.length} tried, ${hits} hit, ${trials.length - lost.length} survived`);
	assert.equal(lost.length, 0, lost.map(({ number, losses }) => `${number}: ${losses.join('; ')}`).join('\n'));
});

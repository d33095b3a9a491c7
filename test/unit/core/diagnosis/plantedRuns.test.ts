import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Diagnosis } from '../../../../src/core/diagnosis/diagnosis.ts';
import type { DiagnosisRun } from '../../../../src/core/diagnosis/diagnosisRun.ts';
import type { StepFacts } from '../../../../src/core/diagnosis/stepFacts.ts';
import { verdictOf } from '../../../../src/core/diagnosis/verdict.ts';
import { root } from '../../../scripts/paths.ts';

/** Extracted from embedded engine runs by test/scripts/recordDiagnosis.ts. */
interface Recorded {
	/** Ids of alerts that name the planted failure. Empty for a healthy run. */
	readonly names: readonly string[];
	readonly run: DiagnosisRun;
	readonly columns: readonly string[];
	/** Step, followed by a value for each column. */
	readonly lines: readonly (readonly (number | null)[])[];
	readonly steps: readonly StepFacts[];
}

const folder = join(root, 'test/fixtures/diagnosis/planted');
const recorded = readdirSync(folder).map((file) => ({
	file,
	...(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Recorded),
}));

/** Returns the verdict after the first `count` rows. */
function verdictAfter({ run, columns, lines, steps }: Recorded, count = lines.length) {
	const diagnosis = new Diagnosis(run);
	for (const [step, ...values] of lines.slice(0, count)) {
		for (const facts of steps) if (facts.step === step) diagnosis.addStep(facts);
		const present = columns.map((name, i) => [name, values[i]] as const).filter(([, value]) => value !== null);
		const metrics = { step: step as number, time: 0, stage: 'grpo', values: Object.fromEntries(present) };
		diagnosis.addMetrics([metrics as Parameters<Diagnosis['addMetrics']>[0][number]]);
	}
	return verdictOf(diagnosis);
}

describe('recorded runs', () => {
	it('include healthy runs and runs with planted failures', () => {
		assert.ok(recorded.filter(({ names }) => names.length === 0).length >= 4);
		assert.ok(recorded.filter(({ names }) => names.length > 0).length >= 14);
	});

	for (const one of recorded.filter(({ names }) => names.length > 0)) {
		it(`report the planted failure: ${one.file}`, () => {
			const { kind, alerts } = verdictAfter(one);
			assert.equal(kind, 'alerts');
			assert.ok(one.names.includes(alerts[0]?.id ?? ''), alerts.map(({ id }) => id).join(' '));
		});
	}

	for (const one of recorded.filter(({ names }) => names.length === 0)) {
		it(`have no alert at any point: ${one.file}`, () => {
			for (let count = 1; count <= one.lines.length; count += 3) {
				const { alerts } = verdictAfter(one, count);
				assert.deepEqual(
					alerts.map(({ message }) => message),
					[],
					`after ${count}`,
				);
			}
			assert.equal(verdictAfter(one, 15).kind, 'short');
			assert.equal(verdictAfter(one).kind, 'clear');
		});
	}
});

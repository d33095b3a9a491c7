import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hiddenCharacters } from '../../../src/core/text/hiddenCharacters.ts';
import type { EvaluationView } from '../../../src/extension/evaluation/evaluationList.ts';
import { presentEvaluation } from '../../../src/extension/evaluation/evaluationPresentation.ts';
import { pipelineEnd } from '../../../src/extension/pipelines/pipelineEnd.ts';
import { presentPipeline, presentStage } from '../../../src/extension/pipelines/pipelinePresentation.ts';
import { stageLines } from '../../../src/extension/pipelines/stageLines.ts';
import { doctorSentence, doctorText } from '../../../src/extension/pytorch/doctorText.ts';
import { presentRun, presentStatusBar } from '../../../src/extension/runPresentation.ts';
import { plainSentence, type RunView } from '../../../src/extension/runView.ts';
import type { TooltipRow } from '../../../src/extension/treeRow.ts';
import type { DoctorReport } from '../../../src/protocol/torchEnvironment.ts';
import type { PipelineView, StageView } from '../../../src/runs/pipeline/pipelineView.ts';
import { hostileTexts } from '../../support/hostileTexts.ts';
import { allHostileTexts, hostileValue } from '../../support/hostileValue.ts';
import { runRecord } from '../webview/rollouts/rolloutsFixture.ts';

/** Asserts that native-view text is a single line without hidden characters or links. */
function isPlain(text: string, where: string): void {
	assert.deepEqual(hiddenCharacters(text).slice(0, 3), [], `${where}: ${JSON.stringify(text.slice(0, 200))}`);
	assert.doesNotMatch(text, /[\n\r]|\]\(/, where);
}

function isPlainRow(row: Omit<TooltipRow, 'tooltip'> & Partial<Pick<TooltipRow, 'tooltip'>>, where: string): void {
	for (const text of [row.label, row.description, row.spoken]) {
		isPlain(text, where);
		// Lists render icons in descriptions, and screen readers read them aloud.
		assert.doesNotMatch(text, /\$\(/, where);
		assert.ok(text.length < 1500, `${where}: ${text.length} characters`);
	}
	for (const [name, value] of row.tooltip ?? []) isPlain(`${name}: ${value}`, `${where}, tooltip`);
}

const stage: StageView = {
	...{ name: 'cold', type: 'grpo', status: 'failed', done: 3, total: 9, accuracy: 0.5, seconds: 12, why: 'no rows' },
	...{ device: 'cpu', tokens: 12, costs: [{ amount: 1, currency: 'USD' }] },
	...{ partial: 'half of it', folder: '/w/cold', kept: ['cold.1'] },
};
const pipeline: PipelineView = {
	...{ folder: '/w', name: 'story', status: 'failed', stages: [stage, { ...stage, status: 'finished' }] },
	record: {
		...{
			format: 1,
			id: 'p',
			name: 'story',
			status: 'failed',
			attempt: 2,
			created: 1000,
			updated: 1100,
			heartbeat: 1100,
		},
		...{ host: 'h', boot: 'b', pid: 1, processStart: 's', recipeFolder: '/w', hashes: { recipe: 'a' } },
		error: { reason: 'invalid', message: 'it failed', action: 'mend it' },
		stages: [
			{
				...{ name: 'cold', type: 'grpo', status: 'failed', after: ['other'], inputHash: null, started: 1, ended: 2 },
				...{ attempt: 1, accuracy: 0.5, outputs: [{ kind: 'report', path: 'x', sha256: 'a', bytes: 1 }] },
			},
		],
	},
};
const evaluation: EvaluationView = {
	...{ folder: '/w/e', name: 'held-out', step: null, problems: 'questions', count: 9, done: 3, samples: 4, created: 1 },
	accuracy: { accuracy: 0.5, low: 0.4, high: 0.6 },
};
const run: RunView = {
	...{ folder: '/w/runs/a', record: runRecord(), status: 'crashed', queued: false, fault: 'cannot be read' },
	annotation: { format: 1, name: 'mine', tags: ['first'], note: 'a note' },
	...{ reward: 0.5, accuracy: 0.5, tokensPerSecond: 3 },
} as RunView;

test('rows, tooltips and sentences for runs, pipelines and evaluations render hostile text as plain text', () => {
	const kept = ['status', 'kind', 'engine'];
	for (let i = 0; i < allHostileTexts.length; i++) {
		const where = `from text ${i}`;
		const view = hostileValue(pipeline, i, kept);
		isPlainRow(presentPipeline(view, 2000), where);
		isPlain(pipelineEnd(view), where);
		isPlain(pipelineEnd({ ...view, status: 'finished' }), where);
		const measured = hostileValue(evaluation, i);
		for (const status of ['waiting', 'running', 'finished', 'skipped', 'failed', 'stopped'] as const) {
			const one = { ...hostileValue(stage, i, kept), status };
			isPlainRow(presentStage(one, { pipeline: view }), `${where}, ${status}`);
		}
		isPlainRow(presentStage(hostileValue(stage, i, kept), { pipeline: view, evaluation: measured }), where);
		isPlainRow(presentEvaluation(measured, 2000), where);
		const hostile = hostileValue(run, i, kept);
		for (const status of ['running', 'paused', 'finished', 'crashed', 'unreadable'] as const) {
			const { tooltip, ...row } = presentRun({ ...hostile, status }, 2000);
			isPlainRow({ ...row, tooltip }, `${where}, run ${status}`);
			const bar = presentStatusBar({ ...hostile, status });
			isPlain(bar.text, `${where}, status bar`);
		}
	}
});

test('stage CodeLenses show no icons or hidden characters from recipe names', () => {
	for (const text of allHostileTexts.slice(0, 90)) {
		const name = text.slice(0, 200);
		const recipe = {
			stages: [
				{ name, type: 'sft' },
				{ name: 'b', type: 'grpo', from: `${name}@last`, data: { from: [name] } },
				{ name: 'c', type: 'grpo', from: name },
			],
		};
		for (const { words } of stageLines(JSON.stringify(recipe), null)) {
			isPlain(words, JSON.stringify(name));
			assert.doesNotMatch(words, /\$\(/);
		}
	}
});

test('a notification removes hidden characters from quoted text', () => {
	for (const [name, text] of Object.entries(hostileTexts)) isPlain(plainSentence(text), name);
	assert.equal(plainSentence('❤️ 3\ufe0f a\u200bb'), '❤️ 3\ufe0f a b');
});

test('program output in the Doctor report is shown as plain text', () => {
	const row = { id: 'torch', check: 'torch', status: 'error', found: 'broken', action: 'mend it' } as const;
	for (let i = 0; i < allHostileTexts.length; i++) {
		const report: DoctorReport = {
			...{ format: 1, python: null, source: null, seconds: 1 },
			rows: [hostileValue({ ...row }, i, ['status', 'id']), hostileValue({ ...row }, i + 7, ['status', 'id'])],
		};
		isPlain(plainSentence(doctorSentence(report)), `from text ${i}`);
		const lines = doctorText(report).split('\n');
		assert.equal(lines.filter((line) => line.startsWith('#')).length, 3, 'headings');
		assert.equal(lines.filter((line) => line.startsWith('|')).length, 4, 'table rows');
		for (const line of lines) {
			assert.deepEqual(hiddenCharacters(line), [], `from text ${i}`);
			// Outside code, nothing may be interpreted as markup, an address, a formula or an entity.
			const bare = line.replace(/`[^`]*`/g, '');
			assert.doesNotMatch(bare.replace(/\*\*(error|warning)\*\*|^#+ /g, ''), /[\\*_[\]<>~$&@#]|:\/\/|www\./i, line);
			assert.equal((line.match(/`/g) ?? []).length % 2, 0, line);
		}
	}
});

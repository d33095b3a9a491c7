/** Generates the examples in docs/exports.md: exports of two rollouts from one group, one of them with labels. */
import { Random } from '../../src/base/random.ts';
import { exportFormatInfos, exportFormats } from '../../src/core/export/exportFormat.ts';
import { preferencePair } from '../../src/core/export/preferencePairs.ts';
import { writeMathShepherd } from '../../src/core/export/prm/mathShepherd.ts';
import { writePrm800k } from '../../src/core/export/prm/prm800k.ts';
import { writeProcessBench } from '../../src/core/export/prm/processBench.ts';
import { writeTrlStepwise } from '../../src/core/export/prm/trlStepwise.ts';
import { rewardCase } from '../../src/core/export/rewardCase.ts';
import { sftExample } from '../../src/core/export/sft.ts';
import { judgedPairs, preferenceLine } from '../../src/core/feedback/judgedPairs.ts';
import { resolveTemplate } from '../../src/core/text/template.ts';
import { perturbationKinds, perturbTrace } from '../../src/core/trace/perturb.ts';
import { completionSteps } from '../../src/core/trace/splitSteps.ts';
import type { Feedback } from '../../src/protocol/feedback.ts';
import type { RolloutLine } from '../../src/protocol/rolloutLine.ts';

const tags = resolveTemplate('r1');
const rollout = (index: number, completion: string, accuracy: number): RolloutLine & { step: number } => ({
	...{ step: 40, stage: 'grpo', group: 3, index, prompt: '12*3+1=', completion, answer: '37', row: { a: 12, b: 3 } },
	...{ rewards: { accuracy, format: 1 }, reward: accuracy + 0.2, advantage: 0, truncated: false },
});
const right = rollout(0, '<think>12*3=36\nWait, check: yes.\n36+1=37</think><answer>37</answer>', 1);
const wrong = rollout(5, '<think>12*3=38\n38+1=39</think><answer>39</answer>', 0);

const steps = completionSteps(String(wrong.completion), tags, 'lines').map(({ text }, i) => ({
	text,
	rating: i === 0 ? (-1 as const) : i === 1 ? (1 as const) : (-1 as const),
}));
const sample = { prompt: String(wrong.prompt), answer: '37', steps, time: 1_763_640_000 };

const rated = (
	{ step, group, index, prompt, completion, reward }: RolloutLine & { step: number },
	rating: 2 | 5,
): Feedback => ({
	...{
		kind: 'rating',
		format: 1,
		time: 1_763_640_000,
		rater: 'ada',
		split: 'train',
		step,
		group,
		index,
		reward,
		rating,
	},
	...{ prompt: String(prompt), completion: String(completion) },
});

const lines: Readonly<Record<string, readonly unknown[]>> = {
	sft: [
		sftExample(right, { form: 'standard' }),
		sftExample(right, { form: 'conversational' }),
		sftExample(right, { form: 'messages' }),
	],
	dpo: [preferencePair(right, wrong, 'standard')],
	cases: [rewardCase(right), rewardCase(wrong, { of: 'right' })],
	prm800k: [writePrm800k(sample, 0)],
	'trl-stepwise': [writeTrlStepwise(sample)],
	'math-shepherd': [writeMathShepherd(sample)],
	preferences: judgedPairs([rated(right, 5), rated(wrong, 2)]).pairs.map(preferenceLine),
	processbench: [writeProcessBench(sample, { id: '40-3-5', generator: 'addition', correct: null })],
};

const madeFrom = { rollouts: 'rollouts', labels: 'step labels', feedback: 'ratings and preferences' } as const;

const fenced = (values: readonly unknown[]) =>
	`\`\`\`jsonl\n${values.map((value) => JSON.stringify(value)).join('\n')}\n\`\`\``;

export function exportTables(): Record<string, string> {
	const cell = (text: string) => `\`${text.replaceAll('\n', '\\n').replaceAll('|', '\\|')}\``;
	const rows = perturbationKinds.map((kind) => {
		const options = { tags, random: Random.of(1, kind), donors: ['Let y be 9.'], wrongAnswer: '38' };
		const changed = perturbTrace(String(right.completion), { kind, share: 0.5 }, options) ?? '';
		return `| \`${kind}\` | ${cell(changed)} |`;
	});
	return {
		...Object.fromEntries(exportFormats.map((format) => [format, fenced(lines[format] ?? [])])),
		formats: [
			'| `--as` | contents | source |',
			'|---|---|---|',
			...exportFormats.map((format) => {
				const { title, detail, from } = exportFormatInfos[format];
				return `| \`${format}\` | ${title}. ${detail} | ${madeFrom[from]} |`;
			}),
		].join('\n'),
		perturbations: [`| kind, share 0.5 | of ${cell(String(right.completion))} |`, '|---|---|', ...rows].join('\n'),
	};
}

import { chooserText, type EvaluatedRound, type RoundSeries, roundSeries } from '../pipeline/rounds.ts';
import { changeText, intervalText } from './numberText.ts';
import type { ReportBlock, ReportChart, ReportSection } from './reportDocument.ts';

/**
 * Returns the accuracy for each loop round and the remaining gain from sample selection, or null if there are no loops.
 */
export function roundsSection(stages: readonly EvaluatedRound[]): ReportSection | null {
	const all = roundSeries(stages).filter(({ points }) => points.length > 1);
	if (all.length === 0) return null;
	return {
		title: 'Rounds',
		blocks: [
			{
				kind: 'paragraph',
				text: 'The gain from best-of-n over a single sample shows how much the policy can still learn from search. It shrinks as the policy learns to solve problems without search.',
			},
			...all.flatMap(blocksOf),
		],
	};
}

function blocksOf({ of, points }: RoundSeries): ReportBlock[] {
	const accuracy: ReportChart = {
		title: `pass@1 of ${of}`,
		x: 'round',
		series: [
			{
				name: '',
				points: points.map(({ number, accuracy: { accuracy: y, low, high } }) => ({ x: number, y, low, high })),
			},
		],
	};
	const gains = points.flatMap(({ number, gain }) => (gain === null ? [] : [{ number, gain }]));
	const first = gains[0];
	const gain: ReportChart[] =
		first === undefined
			? []
			: [
					{
						title: `Gain from ${chooserText(first.gain)} over pass@1`,
						x: 'round',
						series: [
							{
								name: '',
								points: gains.map(({ number, gain: { mean: y, low, high } }) => ({ x: number, y, low, high })),
							},
						],
					},
				];
	return [
		{ kind: 'charts', charts: [accuracy, ...gain] },
		{
			kind: 'table',
			caption: `${of} by round`,
			columns: [
				{ title: 'stage' },
				{ title: 'round', numbers: true },
				{ title: 'questions', numbers: true },
				{ title: 'pass@1', numbers: true },
				{ title: 'selection', numbers: true },
				{ title: 'gain over pass@1', numbers: true },
			],
			rows: points.map(({ stage, number, problems, accuracy: measured, gain: own }) => [
				...[stage, String(number), String(problems), intervalText(measured)],
				...(own === null ? ['–', '–'] : [chooserText(own), changeText(own)]),
			]),
			note: 'Intervals are 95% confidence intervals over questions. The gain is a paired difference by question.',
		},
	];
}

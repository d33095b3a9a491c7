import { choice, count, described, real } from './recipeFields.ts';
import { bareKey, group, key } from './recipeKey.ts';

/** How a stage chooses the problems for a generation batch from those whose pass rates it tracks. */
export const curriculumRules = ['target', 'range', 'uniform'] as const;
export type CurriculumRule = (typeof curriculumRules)[number];

/** Maximum number of problems whose pass rates a stage can track. */
export const maxCurriculumProblems = 65_536;

type Values = Readonly<Record<string, unknown>>;

const usualRange = { min: 0.15, max: 0.85 };

/** Key for stages that compare completions within groups. */
export const curriculumKeys = {
	curriculum: bareKey(
		described(
			group({
				problems: bareKey(
					count('Number of problems to choose from, taken from the data in order.', 1, maxCurriculumProblems),
					{ or: `all rows, at most ${maxCurriculumProblems}; 1024 for generators` },
				),
				sampling: key(
					choice(
						curriculumRules,
						'"target": problems with a pass rate near `target`. "range": any problem with a pass rate within the range. "uniform": all problems, as a control; pass rates are only recorded.',
					),
					'target',
				),
				target: bareKey(real('target: desired pass rate.', 0, 1), {
					or: '`0.5`',
					lacking: {
						embedded: {
							when: (_, { sampling = 'target' }: Values) => sampling !== 'target',
							say: 'Only used with "sampling": "target". Remove it.',
						},
					},
				}),
				min_pass_rate: key(real('Pass rate below which a problem counts as hard.', 0, 1), usualRange.min, {
					lacking: {
						embedded: {
							when: (value, { max_pass_rate }: Values) =>
								max_pass_rate === undefined && Number(value) >= usualRange.max,
							say: `"min_pass_rate" must be less than "max_pass_rate", which is ${usualRange.max} by default. Lower it.`,
						},
					},
				}),
				max_pass_rate: key(real('Pass rate above which a problem counts as easy.', 0, 1), usualRange.max, {
					lacking: {
						embedded: {
							when: (value, { min_pass_rate = usualRange.min }: Values) => Number(value) <= Number(min_pass_rate),
							say: '"max_pass_rate" must be greater than "min_pass_rate". Raise it.',
						},
					},
				}),
				decay: key(real("Weight given to a problem's earlier results each time it is sampled again.", 0, 1), 0.5),
			}),
			'Choose problems by their pass rate, so that fewer groups are dead.',
		),
		{
			lacking: {
				pytorch: {
					say: 'TRL reads prompts in dataset order and cannot choose them by pass rate. Remove "curriculum", or set "engine": "embedded".',
				},
			},
		},
	),
};

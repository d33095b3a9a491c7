import { formatCounted } from '../../../base/format.ts';
import { maxExcluded } from '../../../protocol/excludedPrompts.ts';
import {
	type DiagnosisRun,
	type RecipeAdvice,
	type Row,
	recipeAdvice,
	recipePath,
	setAdvice,
} from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import { judgesAnswer } from '../rewardNames.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import type { GroupFacts, StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { digits, percent } from '../words.ts';

/** Returns whether most completions in a group agree on an answer that is judged incorrect. */
function agreesOnWrong({ answers = [], correct }: GroupFacts): boolean {
	const counts = new Map<string, number>();
	for (const [i, answer] of answers.entries()) {
		if (answer !== null && correct[i] === false) counts.set(answer, (counts.get(answer) ?? 0) + 1);
	}
	return answers.length > 2 && Math.max(0, ...counts.values()) >= limit('agreeShare') * answers.length;
}

/** Maximum number of prompts kept, and their total length in characters. */
const maxPrompts = 2000;
const maxCharacters = 200_000;

class KeyWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #facts = new RecentFacts(limit('shortRun'));
	readonly #training = new Recent(limit('shortRun'));
	#heldOut: number | null = null;
	/** Prompts whose latest group agrees on an answer that differs from the recorded one. */
	readonly #contradicted = new Set<string>();
	#characters = 0;

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#facts.clear();
		this.#training.clear();
		this.#heldOut = null;
		this.#contradicted.clear();
		this.#characters = 0;
	}

	row(row: Row): undefined {
		const judge = row.names.find((name) => {
			const reward = /^rewards\/(.+)\/mean$/s.exec(name)?.[1];
			return reward !== undefined && judgesAnswer(reward);
		});
		const value = judge === undefined ? null : row.get(judge);
		if (value !== null) this.#training.push(value);
		this.#heldOut = row.get('eval/heldout/accuracy') ?? this.#heldOut;
	}

	#note(group: GroupFacts): void {
		const { prompt } = group;
		if (prompt === undefined) return;
		if (!agreesOnWrong(group)) {
			if (this.#contradicted.delete(prompt)) this.#characters -= prompt.length;
		} else if (this.#contradicted.size < maxPrompts && this.#characters + prompt.length <= maxCharacters) {
			if (!this.#contradicted.has(prompt)) this.#characters += prompt.length;
			this.#contradicted.add(prompt);
		}
	}

	/** Suggests excluding the contradicted rows found so far. Later steps can add more. */
	#advice(): RecipeAdvice | null {
		const { dataset } = this.#run;
		const prompts = [...this.#contradicted];
		if (typeof dataset?.path !== 'string' || prompts.length === 0) {
			return recipeAdvice(recipePath(this.#run, 'dataset'), 'rows with correct answers');
		}
		const before = Array.isArray(dataset.exclude) ? dataset.exclude : [];
		const count = formatCounted(prompts.length, 'prompt');
		return setAdvice(
			recipePath(this.#run, 'dataset', 'exclude'),
			`exclude ${count} whose completions agree on an answer that differs from the recorded one`,
			[...new Set([...before, ...prompts])].slice(0, maxExcluded),
		);
	}

	step(facts: StepFacts): readonly RuleFinding[] | undefined {
		this.#facts.push(facts);
		for (const group of facts.groups) this.#note(group);
		if (this.#heldOut === null || !this.#training.full) return [];
		const heldOut = this.#heldOut;
		const training = this.#training.mean();
		if (heldOut - training < limit('agreedGap')) return [];
		let groups = 0;
		let wrong = 0;
		for (const { group } of this.#facts.groups()) {
			groups++;
			if (agreesOnWrong(group)) wrong++;
		}
		const share = wrong / groups;
		if (!(share >= limit('agreedWrong'))) return [];
		return [
			{
				level: 'warning',
				// Refresh whenever the number of prompts has grown by a tenth.
				edition: Math.floor(Math.log(1 + this.#contradicted.size) / Math.log(1.1)),
				content: () => ({
					cause: 'incorrect answers in the dataset',
					message: `In ${percent(share)} of the groups, at least ${percent(limit('agreeShare'))} of the completions agree on an answer that is judged incorrect, while held-out accuracy is ${digits(heldOut)} and training accuracy is ${digits(training)}.`,
					action:
						'Compare the recorded answers for these rows with the answer that the completions agree on. Correct the answer key, or exclude the rows.',
					metrics: ['eval/heldout/accuracy'],
					evidence: this.#facts.evidence((group, i) => agreesOnWrong(group) && group.correct[i] === false),
					recipe: this.#advice(),
				}),
			},
		];
	}
}

export const wrongAnswers: Rule = {
	name: 'wrong-answers',
	title: 'Incorrect answers in the dataset',
	fires:
		'over the last `shortRun` steps with rollouts, in at least `agreedWrong` of the groups, at least `agreeShare` of the completions give the same answer and it is judged incorrect, while `eval/heldout/accuracy` exceeds training accuracy by `agreedGap` or more. The suggested fix excludes the prompts in the stage whose latest group agreed in this way (up to 2,000).',
	silent:
		'if the held-out problems have the same incorrect answer keys, or if the run does not record how answers are marked.',
	metrics: ['eval/heldout/accuracy', 'rewards/NAME/mean'],
	thresholds: ['agreeShare', 'agreedWrong', 'agreedGap', 'shortRun'],
	explains: ['dead-groups', 'entropy-collapse', 'learning-rate-high'],
	watch: (run) => new KeyWatch(run),
};

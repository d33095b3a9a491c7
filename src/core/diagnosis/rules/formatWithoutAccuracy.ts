import { type DiagnosisRun, type Row, recipeAdvice, recipePath } from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import { judgesAnswer, judgesForm } from '../rewardNames.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import type { StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { digits, quoted } from '../words.ts';

const rewardName = (metric: string) => /^rewards\/(.+)\/mean$/s.exec(metric)?.[1];

class FormatWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #forms = new Recent(limit('shortRun'));
	readonly #answers = new Recent(limit('shortRun'));
	readonly #facts = new RecentFacts(2);
	#form: string | null = null;
	#answer: string | null = null;
	#largest = 1;
	/** State since the format was learned: number of batches, the correctness reward then, and its best value since. */
	#learned: { batches: number; readonly at: number; best: number } | null = null;

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#forms.clear();
		this.#answers.clear();
		this.#learned = null;
	}

	step(facts: StepFacts): undefined {
		this.#facts.push(facts);
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		if (this.#form === null || this.#answer === null) {
			const names = row.names.flatMap((name) => rewardName(name) ?? []);
			this.#form ??= names.find(judgesForm) ?? null;
			this.#answer ??= names.find(judgesAnswer) ?? null;
		}
		if (this.#form === null || this.#answer === null) return undefined;
		const [form, answer] = [row.get(`rewards/${this.#form}/mean`), row.get(`rewards/${this.#answer}/mean`)];
		if (form === null || answer === null) return undefined;
		this.#largest = Math.max(this.#largest, form);
		this.#forms.push(form);
		this.#answers.push(answer);
		if (!this.#forms.full) return [];
		const [isForm, isAnswer] = [this.#forms.mean(), this.#answers.mean()];
		if (isForm < limit('formatLearned') * this.#largest) {
			this.#learned = null;
			return [];
		}
		this.#learned ??= { batches: 0, at: isAnswer, best: isAnswer };
		const { at } = this.#learned;
		this.#learned.batches++;
		this.#learned.best = Math.max(this.#learned.best, isAnswer);
		const { batches, best } = this.#learned;
		if (batches < limit('formatBatches') || best - at >= limit('flatRise') || best >= limit('flatBelow')) return [];
		const [formName, answerName] = [this.#form, this.#answer];
		return [
			{
				level: 'warning',
				content: () => ({
					message: `The policy has learned the format (${quoted(formName)} ${digits(isForm)}) but not the answers: ${quoted(answerName)} has stayed between ${digits(Math.min(at, isAnswer))} and ${digits(best)} for ${batches} batches.`,
					action:
						'The policy cannot reach the remaining reward. Use easier problems first, a cold start with worked solutions, or more completions per prompt.',
					metrics: [`rewards/${formName}/mean`, `rewards/${answerName}/mean`],
					evidence: this.#facts.evidence((group, i) => group.correct[i] === false && group.answered[i] !== false),
					recipe: recipeAdvice(recipePath(this.#run, 'dataset'), 'easier problems, at least initially'),
				}),
			},
		];
	}
}

export const formatWithoutAccuracy: Rule = {
	name: 'format-without-accuracy',
	title: 'Format learned, answers not',
	fires:
		'the mean of the format reward (named format, tags, structure, template, boxed) over 20 batches has been >= `formatLearned` x its largest value for `formatBatches` batches, during which the correctness reward rose by less than `flatRise` and stayed below `flatBelow`.',
	silent: 'as long as answers keep improving.',
	metrics: ['rewards/NAME/mean'],
	thresholds: ['formatLearned', 'formatBatches', 'flatRise', 'flatBelow', 'shortRun'],
	watch: (run) => new FormatWatch(run),
};

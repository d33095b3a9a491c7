import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { selfJudgeReward, verdictProblem } from '../../../../src/core/reward/selfJudgeReward.ts';
import { r1Tags } from '../../../../src/core/trace/trace.ts';

const judge = { prompt: '{problem}{response}?', accept: '1' };
const answered = (answer: string) => `<think>x</think><answer>${answer}</answer>`;

describe('the policy as its own judge', () => {
	it('asks about the answer of a completion, if it has exactly one', () => {
		assert.equal(verdictProblem(judge, '12+34=', answered('46'), r1Tags), '12+34=46?');
		assert.equal(verdictProblem(judge, '12+34=', '<think>46', r1Tags), null);
		assert.equal(verdictProblem(judge, '12+34=', answered('46') + answered('47'), r1Tags), null);
	});

	it('does not expand placeholders in an answer or a problem', () => {
		assert.equal(verdictProblem(judge, '$& {response}', answered('{problem}$1'), r1Tags), '$& {response}{problem}$1?');
	});

	it('rewards with the fraction of accepting verdicts; a verdict without an answer counts as a rejection', () => {
		const verdicts = [answered('1'), answered(' 1 '), answered('0'), '<think>1', answered('11')];
		assert.equal(selfJudgeReward(judge, verdicts, r1Tags), 0.4);
	});
});

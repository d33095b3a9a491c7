import type { BuiltInRewardSpec } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { Recipe } from '../../protocol/recipeKeys/recipe.ts';
import type { Template } from '../text/template.ts';
import type { PathFault } from './pathFault.ts';

type Report = (path: PathFault['path'], message: string) => void;

/** Finds conflicts between the keys of a built-in reward. Returns the key to report, or null for the entire entry. */
function optionFault(
	reward: BuiltInRewardSpec,
	template: Template | null,
): [key: string | null, message: string] | null {
	switch (reward.use) {
		case 'format':
		case 'tag-count':
			return template !== null && !template.think && !template.answer
				? [
						null,
						`The reward "${reward.use}" requires tags, but the template has none. Remove it, or use template "r1".`,
					]
				: null;
		case 'soft-overlong':
			return reward.cacheLength > reward.maxLength
				? [
						'cacheLength',
						`"cacheLength" ${reward.cacheLength} is greater than "maxLength" ${reward.maxLength}. Lower it.`,
					]
				: null;
		case 'length-target':
			if (reward.target === undefined && reward.column === undefined)
				return [null, 'The reward "length-target" requires a target length. Add "target" or "column".'];
			return reward.mode === 'near' && reward.target === 0 && reward.range === undefined
				? ['target', 'With "target" set to 0, there is no range over which the reward can fall off. Add "range".']
				: null;
		case 'json-schema':
			return reward.schema === undefined && reward.column === undefined
				? [null, 'The reward "json-schema" requires a schema. Add "schema" or "column".']
				: null;
		case 'judge':
			if (reward.scale[0] >= reward.scale[1])
				return [
					'scale',
					`"scale" ${JSON.stringify(reward.scale)} must be in ascending order. Set its first number below the second.`,
				];
			return reward.prompt !== undefined && !reward.prompt.includes('{response}')
				? ['prompt', '"prompt" does not contain {response}. Add it where the text to judge belongs.']
				: null;
		case 'process':
			if ((reward.model === undefined) === (reward.url === undefined))
				return [null, 'The reward "process" requires a model. Add either "model" or "url".'];
			return reward.api === 'pooling' && reward.modelName === undefined
				? ['api', 'With "api": "pooling", "modelName" is required. Set it to the name of the model on the server.']
				: null;
		default:
			return null;
	}
}

/** Finds conflicts within and between the rewards in a recipe. */
export function checkRewards(recipe: Recipe, template: Template | null, report: Report): void {
	const seen = new Set<string>();
	for (const [i, reward] of recipe.rewards.entries()) {
		const name = 'use' in reward ? (reward.name ?? reward.use) : `${reward.file}#${reward.name ?? ''}`;
		if (seen.has(name)) {
			const other = 'use' in reward ? 'give one of them another "name", or ' : '';
			report(['rewards', i], `The reward "${name}" is listed twice: ${other}combine their weights in one entry.`);
		}
		seen.add(name);
		if (!('use' in reward)) continue;
		const fault = optionFault(reward, template);
		if ((reward.use === 'certainty' || reward.use === 'self-certainty') && recipe.engine !== 'embedded') {
			report(
				['rewards', i],
				`The reward "${reward.use}" requires the embedded engine, because TRL does not pass token distributions to rewards. Remove it, or set "engine": "embedded".`,
			);
		} else if (reward.use === 'self-judge' && recipe.engine !== 'embedded') {
			report(
				['rewards', i],
				'The reward "self-judge" requires the embedded engine, which samples the verdicts. Remove it, or set "engine": "embedded".',
			);
		} else if (reward.use === 'self-judge' && recipe.environment !== undefined) {
			report(
				['rewards', i],
				'The reward "self-judge" is not available for episodes. Remove it, or remove "environment".',
			);
		} else if (reward.use === 'self-certainty' && recipe.environment !== undefined) {
			report(
				['rewards', i],
				'The reward "self-certainty" is not available for episodes. Use "certainty", or remove "environment".',
			);
		}
		if (fault !== null) report(fault[0] === null ? ['rewards', i] : ['rewards', i, fault[0]], fault[1]);
	}
	if (recipe.rewards.every((reward) => reward.weight === 0)) {
		report(['rewards'], 'Every "weight" in "rewards" is 0, so nothing can be learned. Raise one of them.');
	}
}

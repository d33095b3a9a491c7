import type { DashboardAlert } from '../../src/protocol/dashboardMessages.ts';
import { button } from '../lib/controls.ts';
import { element } from '../lib/dom.ts';
import { icon } from '../lib/icons.ts';
import { whenOf } from './alertOrder.ts';

export interface AlertActions {
	/** @param item index of the evidence; null opens the rollouts for the step */
	readonly showEvidence: (alert: DashboardAlert, item: number | null) => void;
	readonly showRecipe: (alert: DashboardAlert) => void;
	readonly applyAdvice: (alert: DashboardAlert) => void;
	readonly dismiss: (alert: DashboardAlert, dismissed: boolean) => void;
}

const words = { error: 'Error', warning: 'Warning', info: 'Information' } as const;

/** Renders an alert with title, steps, advice, and links to rollouts and the recipe. */
export function alertItem(alert: DashboardAlert, actions: AlertActions): HTMLLIElement {
	const { title, level, message, action, evidence, recipe, holds, dismissed } = alert;
	const places = evidence.map(({ step, group, index }, i) =>
		linkButton(
			`step ${step}, group ${group}${index === undefined ? '' : `, completion ${index}`}`,
			'Open these rollouts',
			() => actions.showEvidence(alert, i),
		),
	);
	return element(
		'li',
		{
			class: `alert alert-${level}${holds ? '' : ' alert-over'}${dismissed ? ' alert-dismissed' : ''}`,
			attributes: { tabindex: '-1' },
			data: { alert: alert.id },
		},
		element('span', { class: 'alert-icon', role: 'img', aria: { label: words[level] } }, icon(level)),
		element(
			'div',
			{ class: 'alert-text' },
			element(
				'p',
				{ class: 'alert-head' },
				element('strong', null, title),
				element('span', { class: 'alert-when' }, whenOf(alert)),
			),
			element(
				'p',
				null,
				message,
				action === null ? null : ' ',
				action === null ? null : element('span', { class: 'alert-action' }, action),
			),
			element(
				'div',
				{ class: 'alert-links' },
				evidence.length > 0
					? element('span', { class: 'alert-evidence' }, element('span', { class: 'quiet' }, 'Rollouts:'), ...places)
					: linkButton('Show rollouts', `Show the rollouts around step ${alert.lastStep}`, () =>
							actions.showEvidence(alert, null),
						),
				recipe === null
					? null
					: element(
							'span',
							{ class: 'alert-recipe' },
							element('span', { class: 'quiet' }, 'Recipe:'),
							linkButton(recipe.key, `Show ${recipe.key} in the recipe`, () => actions.showRecipe(alert)),
							element('span', null, recipe.suggestion),
							recipe.applies
								? linkButton('Apply', 'Apply the change in the recipe editor without saving', () =>
										actions.applyAdvice(alert),
									)
								: null,
						),
			),
		),
		button({
			label: dismissed ? `Restore: ${title}` : `Dismiss: ${title}`,
			title: dismissed ? 'Restore this alert' : 'Dismiss (Delete)',
			appearance: 'icon',
			icon: dismissed ? 'reset' : 'close',
			onClick: () => actions.dismiss(alert, !dismissed),
		}).element,
	);
}

function linkButton(label: string, hint: string, onClick: () => void): HTMLButtonElement {
	return element(
		'button',
		{ class: 'link', title: hint, attributes: { type: 'button' }, on: { click: onClick } },
		label,
	);
}

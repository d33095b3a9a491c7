import type { TokenDetail } from '../../../src/core/search/policy.ts';
import type { TokenStatistic } from '../../../src/core/search/tokenStatistics.ts';
import { element, fill } from '../../lib/dom.ts';
import { TokenView } from '../../lib/tokens/tokenView.ts';
import { visibleText } from '../../lib/trace/hiddenCharacters.ts';
import { roleNames } from '../draw/nodeShapes.ts';
import type { Change, TreeModel } from '../treeModel.ts';
import type { TreeSide } from '../treeSide.ts';
import type { DetailTab } from './detailTab.ts';
import { eventsOfNode } from './nodeEvents.ts';

/** Maximum length of displayed results, in characters. */
const longestResults = 20_000;

/** Shows the tokens of the selected node. */
export class TokensTab implements DetailTab {
	readonly id = 'tokens';
	readonly label = 'Tokens';
	readonly element = element('div', { class: 'detail-body tokens-tab' });
	readonly #model: TreeModel;
	#view: TokenView | null = null;
	#statistic: TokenStatistic = 'entropy';
	#drawn = '';

	constructor(model: TreeModel) {
		this.#model = model;
	}

	dispose(): void {
		this.#view?.dispose();
	}

	update(changes: ReadonlySet<Change>): void {
		if (!['tab', 'selection', 'events', 'source', 'sides', 'moment'].some((one) => changes.has(one as Change))) return;
		const { current: side, selected: node, selection } = this.#model;
		if (side === null || node === undefined || selection === null) {
			this.#say('Select a node to see its tokens.');
			return;
		}
		const canForce = forcing(side);
		const key = `${selection.side} ${side.source.path} ${side.source.chosen} ${node.id} ${canForce}`;
		// A node's tokens never change, so keep the view while the tree grows.
		if (key === this.#drawn) return;
		const event = eventsOfNode(side.events, 'tokens', node.id, side.events.length).at(-1);
		if (event === undefined || event.text.length === 0) {
			const why =
				node.parents.length === 0
					? 'The problem is input, so it has no token data.'
					: 'The policy returned no token data.';
			this.#say(`${why} To record tokens, set "tokens" in the search’s sampling settings to 1 or more.`);
			return;
		}
		this.#view?.dispose();
		this.#drawn = key;
		this.#view = new TokenView({
			label: `Tokens of node ${node.id}`,
			detail: event as typeof event & TokenDetail,
			statistic: this.#statistic,
			canForce,
			onForce: (token, text) => this.#model.post({ type: 'force', node: node.id, token, text }),
			onStatistic: (statistic) => {
				this.#statistic = statistic;
			},
		});
		const title = `Tokens of ${roleNames[node.role].toLowerCase()} ${node.id}`;
		fill(this.element, element('h2', null, title), this.#view.element, observed(side.textOf(node), node.written));
	}

	#say(words: string): void {
		this.#view?.dispose();
		this.#view = null;
		this.#drawn = '';
		fill(this.element, element('p', { class: 'quiet' }, words));
	}
}

/** Returns the part of a turn that the policy did not sample: the results of its calls. null if there is none. */
function observed(text: string, written: number | null): HTMLElement | null {
	const results = written === null ? '' : text.slice(written);
	if (results === '') return null;
	return element(
		'section',
		{ aria: { label: 'Results' } },
		element('h3', null, 'From the environment, not sampled'),
		element(
			'p',
			{ class: 'problem-text', tabIndex: 0 },
			element('span', { class: 'observed' }, visibleText(results.slice(0, longestResults))),
		),
	);
}

/** Returns true if tokens can be forced; otherwise, the reason why they cannot. */
function forcing({ name, source }: TreeSide): true | string {
	if (name === 'other') return 'Open this tree separately to force a token.';
	if (source.canGoOn !== true) return source.canGoOn;
	return source.running ? 'The search is running. Stop it to force a token.' : true;
}

import { commandIds, panelTypes } from '../ids.ts';
import { Lazy } from '../lazy.ts';
import { LazyPanels } from '../lazyPanels.ts';
import { addPlaygroundCommands } from '../panels/playground/playgroundCommands.ts';
import type { PlaygroundPlace } from '../panels/playground/playgroundPanel.ts';
import type { TreePlace } from '../panels/tree/treePanel.ts';
import { addPolicyCommands, type LazyPolicies } from '../policies/lazyPolicies.ts';
import { PoliciesTree } from '../policies/policiesTree.ts';
import { rewardSettings } from '../rewards/rewardSettings.ts';
import { addSearchCommands, type LazySearches } from '../search/lazySearches.ts';
import { SearchesTree } from '../search/searchesTree.ts';
import type { SearchRequest } from '../search/searchRequest.ts';
import type { EnvironmentServices } from './registerEnvironments.ts';
import type { PytorchServices } from './registerPytorch.ts';
import type { RewardServices } from './registerRewards.ts';
import type { RunServices } from './registerRuns.ts';
import type { WindowServices } from './registerWindow.ts';

/** Policies and the searches that use them. */
export interface SearchServices {
	readonly policies: LazyPolicies;
	readonly searches: LazySearches;
}

export function registerSearches(
	services: WindowServices & RunServices & PytorchServices & RewardServices & Pick<EnvironmentServices, 'environments'>,
): SearchServices {
	const { context, keep, extension, storage, log, notices, table, panels, client } = services;
	const { store, picker, pytorch, environment, rewardFiles: files } = services;
	const searchesTree: SearchesTree = keep(new SearchesTree(async () => (await searches.get()).list));
	const searches: LazySearches = keep(
		new Lazy(async () => {
			const { SearchWorkbench } = await import('../search/searchWorkbench.ts');
			return new SearchWorkbench({
				...{ extension, storage, client, store, notices, files },
				log: (message) => log.info(message),
				keys: async () => (await policies.get()).keys(),
				policies: () => policies.get(),
				environments: () => services.environments.get(),
				environment: async (file) => ({ ...(await environment.of(file)), ...(await pytorch.ifThere()) }),
				memoryMb: (file) => rewardSettings.limits(file).memoryMb,
				tree: searchesTree,
				memory: context.workspaceState,
				openTree: (place) => trees.open(place),
				openForm: (request) => forms.open(null, request),
				openComparison: (folder) => strategies.open(folder),
			});
		}),
	);
	const policiesTree: PoliciesTree = keep(new PoliciesTree(async () => (await policies.get()).list));
	const policies: LazyPolicies = keep(
		new Lazy(async () => {
			const { PolicyWorkbench } = await import('../policies/policyWorkbench.ts');
			return new PolicyWorkbench({
				...{ store, notices, tree: policiesTree },
				secrets: context.secrets,
				memory: context.globalState,
				searches: async () => (await searches.get()).searches,
			});
		}),
	);
	const trees: LazyPanels<never, TreePlace> = keep(
		new LazyPanels<never, TreePlace>(panelTypes.tree, async () => {
			const [{ treePanels }, { actions }] = await Promise.all([import('../panels/tree/treePanel.ts'), searches.get()]);
			return treePanels(panels, actions);
		}),
	);
	const forms: LazyPanels<SearchRequest, null> = keep(
		new LazyPanels<SearchRequest, null>(panelTypes.newSearch, async () =>
			(await import('../panels/newSearch/newSearchPanel.ts')).newSearchPanels(panels, await searches.get()),
		),
	);
	const strategies: LazyPanels<never> = keep(
		new LazyPanels<never>(panelTypes.strategies, async () => {
			const [{ strategiesPanels }, { comparisons }] = await Promise.all([
				import('../panels/strategies/strategiesPanel.ts'),
				searches.get(),
			]);
			return strategiesPanels(panels, comparisons.actions);
		}),
	);
	const playgrounds = keep(
		new LazyPanels<never, PlaygroundPlace>(panelTypes.playground, async () => {
			const { playgroundPanels } = await import('../panels/playground/playgroundPanel.ts');
			return playgroundPanels({
				...{ ...panels, extension, client, store, notices, environment, files },
				policies: () => policies.get(),
				torch: () => pytorch.ifThere(),
			});
		}),
	);
	addSearchCommands(table, searches);
	table.addLater([commandIds.verifyEnvironmentWithPolicy], async () => {
		const { policyVerificationCommands } = await import('../environments/policyVerification.ts');
		return policyVerificationCommands({ ...services, policies, searches });
	});
	addPolicyCommands(table, policies);
	addPlaygroundCommands(table, { playgrounds, picker, policies });
	return { policies, searches };
}

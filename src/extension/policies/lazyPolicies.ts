import { Disposable } from '../../base/disposable.ts';
import type { CommandTable } from '../commandTable.ts';
import { type CommandId, commandIds } from '../ids.ts';
import type { PolicyCommands } from './policyCommands.ts';
import type { PolicyWorkbench } from './policyWorkbench.ts';

/** Loads what there is about policies when somebody looks at them, searches, or a command about them runs; not before. */
export class LazyPolicies extends Disposable {
	readonly #load: () => Promise<PolicyWorkbench>;
	#workbench: Promise<PolicyWorkbench> | null = null;

	constructor(load: () => Promise<PolicyWorkbench>) {
		super();
		this.#load = load;
	}

	get(): Promise<PolicyWorkbench> {
		this.#workbench ??= this.#load().then((workbench) => this.register(workbench));
		return this.#workbench;
	}
}

/** The commands of the *Policies* view. */
export function addPolicyCommands(table: CommandTable, policies: LazyPolicies): void {
	const add = (id: CommandId, run: (commands: PolicyCommands, args: unknown[]) => unknown) =>
		table.add(id, async (...args: unknown[]) => run((await policies.get()).commands, args));
	add(commandIds.addPolicy, (commands, [server]) => commands.add(server));
	add(commandIds.testPolicy, (commands, [policy]) => commands.test(policy));
	add(commandIds.removePolicy, (commands, [policy, confirmed]) => commands.remove(policy, confirmed));
	add(commandIds.setPolicyKey, (commands, [policy, key]) => commands.setKey(policy, key));
	add(commandIds.setPolicyPrice, (commands, [policy, price]) => commands.setPrice(policy, price));
	add(commandIds.searchWithPolicy, (commands, [policy]) => commands.search(policy));
	add(commandIds.refreshPolicies, (commands) => commands.refresh());
}

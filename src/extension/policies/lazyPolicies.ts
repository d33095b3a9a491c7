import type { CommandTable } from '../commandTable.ts';
import { type CommandId, commandIds } from '../ids.ts';
import type { Lazy } from '../lazy.ts';
import type { PolicyCommands } from './policyCommands.ts';
import type { PolicyWorkbench } from './policyWorkbench.ts';

/** All policy features, loaded when the view is shown, a search starts, or a policy command runs. */
export type LazyPolicies = Lazy<PolicyWorkbench>;

/** Registers the commands of the *Policies* view. */
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

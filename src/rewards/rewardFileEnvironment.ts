/**
 * Variables that are the starting process's own business, and our own keys and tokens: of judges, of the Reasoner API, of
 * policies, of the link to a trainer, of a Ray cluster.
 */
const withheld = [
	...['NODE_OPTIONS', 'ELECTRON_RUN_AS_NODE', 'VSCODE_INSPECTOR_OPTIONS', 'REASONING_LAB_API_KEYS'],
	...['REASONING_LAB_TOKEN', 'REASONING_LAB_POLICY_KEY', 'REASONING_LAB_TRAINER_TOKEN', 'REASONING_LAB_TRAINER_SOCKET'],
	...['RAY_AUTH_TOKEN', 'RAY_AUTH_TOKEN_PATH', 'RAY_JOB_HEADERS'],
];

/** What of an environment reward files see: a person's own variables, and none of our secrets. */
export function rewardFileEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	return Object.fromEntries(Object.entries(environment).filter(([name]) => !withheld.includes(name)));
}

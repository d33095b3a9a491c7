/**
 * Environment variables that are private to the parent process, including our own keys and tokens for judges, the
 * Reasoner API, policies, the trainer link and Ray clusters.
 */
const withheld = [
	...['NODE_OPTIONS', 'ELECTRON_RUN_AS_NODE', 'VSCODE_INSPECTOR_OPTIONS', 'REASONING_LAB_API_KEYS'],
	...['REASONING_LAB_TOKEN', 'REASONING_LAB_POLICY_KEY', 'REASONING_LAB_TRAINER_TOKEN', 'REASONING_LAB_TRAINER_SOCKET'],
	...['RAY_AUTH_TOKEN', 'RAY_AUTH_TOKEN_PATH', 'RAY_JOB_HEADERS'],
];

/** Returns the environment for reward files: the user's own variables, without any of our secrets. */
export function rewardFileEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	return Object.fromEntries(Object.entries(environment).filter(([name]) => !withheld.includes(name)));
}

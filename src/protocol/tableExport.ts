/** Files that a table is exported to. */
export const tableExports = ['csv', 'parquet'] as const;
export type TableExport = (typeof tableExports)[number];

/** File formats for table export. */
export const tableExports = ['csv', 'parquet'] as const;
export type TableExport = (typeof tableExports)[number];

CREATE TABLE IF NOT EXISTS orders (
  id           bigint PRIMARY KEY,
  customer     text   NOT NULL,
  state        text   NOT NULL,
  cents        bigint NOT NULL,
  kafka_offset bigint NOT NULL -- of the message that this row is from
);

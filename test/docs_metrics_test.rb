# frozen_string_literal: true

require "test_helper"
require "skep/metrics"
require "skep/metrics/definitions"
require "skep/plugin/kafka"

# docs/reference/metrics.md is API.
class DocsMetricsTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  ROW = /^\| `(skep_\w+)` \| (\w+) \| ([^|]*) \| ([^|]*) \|$/
  private_constant :ROOT, :ROW

  test "docs/reference/metrics.md lists exactly the metrics of skep and its plugins" do
    rows = File.read("#{ROOT}/docs/reference/metrics.md", encoding: "UTF-8").scan(ROW)
    documented = rows.map do |name, type, labels, help|
      [name, type, labels.delete("`").strip, help]
    end
    definitions = Skep::Metrics::Definitions.all.map do |name, metric|
      [name, metric.type, metric.labels.join(", "), metric.help.delete_suffix(".")]
    end
    assert_equal definitions, documented
  end
end

# frozen_string_literal: true

# The supervisor's private memory and descriptors over the time of the chaos, drawn as the benches
# draw.
#
#   Picture.check("soak.svg")            # raises Misuse where that can't be written
#   Picture.new(report).write("soak.svg")
module Skep
  module CLI
    class Chaos
      class Picture < Bench::Plot
        SERIES = { "private memory, MiB" => ->(sample) { sample.bytes / 1_048_576.0 },
                   "descriptors" => ->(sample) { sample.descriptors.to_f } }.freeze
        private_constant :SERIES

        def initialize(report) #: (Report) -> void
          @chaos = report
          rows = SERIES.flat_map { |name, figure| rows(name, figure, report.samples) }
          axes = SERIES.transform_values { "seconds" }
          super(Bench::Report.new(unit: "", rows: Panels.new(rows), axes:,
                                  machine: Bench::Machine.facts))
        end

        # Rows by the panel they belong to.
        Panels = Struct.new(:rows) do
          def groups = rows.group_by(&:group) #: () -> Hash[String, Array[Bench::Row]]
        end
        private_constant :Panels

        private

        def rows(name, figure, samples)
          samples.map do |sample|
            value = figure.call(sample)
            contender = Bench::Contender.new(sample.seconds.to_s, group: name, series: "supervisor",
                                                                  x: sample.seconds) { value }
            Bench::Row.new(contender).tap { |row| row.add(contender.measure) }
          end
        end

        def heading(canvas)
          title = "skep chaos #{@chaos.swarm}: #{@chaos.deeds.size} deeds of harm in " \
                  "#{@chaos.seconds.round} s, #{@chaos.deeds.count(&:answered?)} answered"
          canvas.text(20, 26, title, size: 17, bold: true)
          canvas.text(20, 46, Bench::Machine.line(@report.machine), size: 10)
        end
      end
      private_constant :Picture
    end
  end
end

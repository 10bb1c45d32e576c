# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# The examples' connections to PostgreSQL while the server refuses them. PG is a fake of the gem: as
# in pg, a connection whose reset was refused is finished and raises at every call.
class DatabaseOutageTest < Skep::TestCase
  EXAMPLES = File.expand_path("../../examples", __dir__)
  PG = <<~RUBY
    module PG
      Error = Class.new(StandardError)
      CONNECTION_OK = 0
      UP = [true, false, false, false, true, true, true] # at each contact with the server

      def self.connect(_url) = UP.shift ? Connection.new : raise(Error, "refused")

      class Connection
        def finished? = @finished
        def finish = @finished = true
        def status = @finished ? raise(Error, "connection is closed") : @status.to_i

        def reset
          UP.shift or raise(Error, "refused", finish && [])
          @status = 0
        end

        def exec_params(*, &_block)
          UP.shift and return "stored"
          @status = 1
          raise Error, "cut"
        end
        alias transaction exec_params
      end
    end
  RUBY
  private_constant :EXAMPLES, :PG

  test "rows are stored once the database is back" do
    assert_equal "stored after 3 waits\n", stored(<<~RUBY)
      require "#{EXAMPLES}/json_to_postgres/order_table"
      result = OrderTable.new("url").upsert([{ "id" => 1 }], node)
    RUBY
  end

  test "counts are stored once the database is back" do
    assert_equal "stored after 3 waits\n", stored(<<~RUBY)
      require "#{EXAMPLES}/windowed_count/counts"
      result = Counts.new("url").add(nil, node)
    RUBY
  end

  private

  def stored(program)
    Dir.mktmpdir do |folder|
      File.write("#{folder}/pg.rb", PG)
      out, err, = run_program(<<~RUBY)
        $LOAD_PATH.unshift("#{folder}")
        waits = 0
        node = Object.new
        node.define_singleton_method(:wait) { |_| (waits += 1) > 9 }
        #{program}
        puts "\#{result} after \#{waits} waits"
      RUBY
      assert_empty err
      out
    end
  end
end
